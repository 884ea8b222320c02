import type { SagaEvent } from '../../statemachines/rules/events.ts';
import type { Clock } from '../ports/clock.ts';
import type { DriveStarter } from '../ports/drive-starter.ts';
import type { Entropy } from '../ports/entropy.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Stores } from '../ports/stores.ts';

/** Everything a handler needs from the place it runs in: the same on Lambda, on a laptop, in a simulation. */
export interface Host {
  readonly stores: Stores;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Absent where the role may not start executions (tool Lambdas): `dueAt` covers the drive. */
  readonly drives?: DriveStarter;
  /** Told of every event this process added, once it stands: the in-process counterpart of the ledger's stream. */
  readonly appended?: (id: LedgerId, event: SagaEvent, hash: string) => void;
  /**
   * The head noted apart from the ledger, where this process has one at hand. A ledger that no longer
   * reaches it was cut or rewritten: it is neither moved on nor added to (invariant 11).
   */
  readonly anchor?: (id: LedgerId) => { readonly seq: number; readonly hash: string } | undefined;
}
