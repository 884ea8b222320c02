import type { Clock } from '../lambdas/ports/clock.ts';
import { type LedgerId, ledgerKey } from '../lambdas/ports/ledger-store.ts';
import type { Log } from '../lambdas/ports/log.ts';
import type { Sweep } from '../lambdas/sweep/sweep.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';

const TICK_MS = 100;
const SWEEP_EVERY_MS = 5_000;

/**
 * Makes the local plane prompt. It follows every unfinished saga's `dueAt` in memory and grants when
 * it comes; beside it runs the same sweep over the registry as on AWS, which needs no memory at all.
 */
export class Watch {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #ignored: ReadonlySet<string>;
  readonly #due = new Map<string, LedgerId & { readonly dueAt: number }>();
  readonly #busy = new Set<Promise<unknown>>();
  #sweep: Sweep | undefined;
  #stopTick: (() => void) | undefined;
  #sweptAt = 0;
  #closed = false;

  constructor(options: {
    readonly clock: Clock;
    readonly log: Log;
    readonly ignored: readonly LedgerId[];
  }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#ignored = new Set(options.ignored.map(ledgerKey));
  }

  /** False for a ledger that is damaged: it is left alone. */
  follow(id: LedgerId, dueAt: number): boolean {
    if (this.#ignored.has(ledgerKey(id))) return false;
    this.#due.set(ledgerKey(id), { tenant: id.tenant, sagaId: id.sagaId, dueAt });
    return true;
  }

  seen(id: LedgerId, { dueAt }: Pick<SagaEvent, 'dueAt'>): void {
    if (dueAt === undefined) this.#due.delete(ledgerKey(id));
    else this.follow(id, dueAt);
  }

  begin(sweep: Sweep): void {
    this.#sweep = sweep;
    this.#sweptAt = this.#clock.now();
    this.#arm();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopTick?.();
    await Promise.allSettled(this.#busy);
  }

  #arm(): void {
    if (this.#closed) return;
    this.#stopTick = this.#clock.timer(TICK_MS, () => {
      this.#tick();
      this.#arm();
    });
  }

  #tick(): void {
    const sweep = this.#sweep;
    if (sweep === undefined) return;
    const now = this.#clock.now();
    for (const [key, saga] of this.#due) {
      if (saga.dueAt > now) continue;
      // Looked at once per due time; if that look fails, the registry's entry still stands.
      this.#due.delete(key);
      this.#run(sweep.grant(saga, 'due'), saga.sagaId);
    }
    if (now - this.#sweptAt >= SWEEP_EVERY_MS) {
      this.#sweptAt = now;
      this.#run(sweep.run(), 'registry');
    }
  }

  #run(work: Promise<unknown>, what: string): void {
    const settled = work
      .catch((error: unknown) => {
        this.#log.error('the sweep could not look', {
          what,
          error: error instanceof Error ? error.message : 'unknown',
        });
      })
      .finally(() => this.#busy.delete(settled));
    this.#busy.add(settled);
  }
}
