import type { Drive, DriveStarter } from '../lambdas/ports/drive-starter.ts';
import type { Log } from '../lambdas/ports/log.ts';
import { executionNameOf } from '../statemachines/rules/keys.ts';
import type { Machines } from './machines.ts';

/** Drives that run at once; more wait their turn, as they would behind an account's quota. */
const DEFAULT_AT_ONCE = 256;
/** Names of finished drives that are remembered: a name that exists was started. */
const REMEMBERED = 10_000;

/** Starts drives in this process. */
export class LocalDrives implements DriveStarter {
  readonly #log: Log;
  readonly #atOnce: number;
  readonly #waiting: Drive[] = [];
  readonly #running = new Map<string, Promise<void>>();
  readonly #names = new Set<string>();
  #machines: Machines | undefined;
  #closed = false;

  constructor(log: Log, atOnce = DEFAULT_AT_ONCE) {
    this.#log = log;
    this.#atOnce = atOnce;
  }

  /** Drives asked for before this wait for it. */
  use(machines: Machines): void {
    this.#machines = machines;
    this.#next();
  }

  async start(drive: Drive): Promise<void> {
    const name = executionNameOf(drive.sagaId, drive.epoch);
    if (this.#closed || this.#names.has(name)) return;
    this.#remember(name);
    this.#waiting.push(drive);
    this.#next();
  }

  /** Resolves when no drive runs or waits any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  /** Starts nothing more, and waits for what runs. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.length = 0;
    await this.idle();
  }

  #next(): void {
    const machines = this.#machines;
    while (machines !== undefined && this.#running.size < this.#atOnce) {
      const drive = this.#waiting.shift();
      if (drive === undefined) return;
      const name = executionNameOf(drive.sagaId, drive.epoch);
      const run = this.#run(machines, drive).finally(() => {
        this.#running.delete(name);
        this.#next();
      });
      this.#running.set(name, run);
    }
  }

  async #run(machines: Machines, drive: Drive): Promise<void> {
    try {
      await machines.run(drive);
    } catch (error) {
      // `Compensated` and `Incident` fail by name; the ledger tells what happened.
      this.#log.info('execution ended as failed', {
        sagaId: drive.sagaId,
        epoch: drive.epoch,
        error: error instanceof Error ? error.message : 'unknown',
      });
    }
  }

  #remember(name: string): void {
    this.#names.add(name);
    if (this.#names.size <= REMEMBERED) return;
    const oldest = this.#names.values().next();
    if (oldest.done !== true) this.#names.delete(oldest.value);
  }
}
