import type { Clock } from '../ports/clock.ts';
import type { DriveStarter } from '../ports/drive-starter.ts';
import type { Entropy } from '../ports/entropy.ts';
import type { Log } from '../ports/log.ts';
import type { Stores } from '../ports/stores.ts';

/** Everything a handler needs from the place it runs in: the same on Lambda, on a laptop, in a simulation. */
export interface Host {
  readonly stores: Stores;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Absent where the role may not start executions (tool Lambdas): `dueAt` covers the drive. */
  readonly drives?: DriveStarter;
}
