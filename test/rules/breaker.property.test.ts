import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type Breaker,
  type BreakerCommand,
  type BreakerEvent,
  decideBreaker,
  evolveBreaker,
  FRESH_BREAKER,
} from '../../statemachines/rules/breaker.ts';
import { SKEW_MS } from '../../statemachines/rules/protocol.ts';

const POLICY = { failures: 3, withinMs: 2_000, openMs: 1_000 };
const LEASE_MS = 500;

const moves = fc.array(
  fc.record({
    worker: fc.nat(3),
    kind: fc.constantFrom('admit', 'admit', 'worked', 'failed', 'failed', 'return', 'look'),
    waitMs: fc.nat(900),
    /** By how much the worker's clock is off, within what the protocol allows between two. */
    skewMs: fc.integer({ min: -SKEW_MS / 2, max: SKEW_MS / 2 }),
  }),
  { minLength: 20, maxLength: 150 },
);

/**
 * Workers that decide on what they saw last, which may be long past, over one ledger that takes each
 * number once.
 */
class Ledger {
  readonly events: BreakerEvent[] = [];
  readonly seen: Breaker[] = Array.from({ length: 4 }, () => FRESH_BREAKER);
  /** The probe that each worker believes to hold. */
  readonly probes: (string | undefined)[] = [];
  #names = 0;

  get head(): Breaker {
    const last = this.events.at(-1);
    return last === undefined ? FRESH_BREAKER : evolveBreaker(FRESH_BREAKER, last);
  }

  command(worker: number, kind: string): BreakerCommand | undefined {
    const probe = this.probes[worker];
    const named = probe === undefined ? {} : { probe };
    switch (kind) {
      case 'admit':
        this.#names += 1;
        return { kind, probe: `p${this.#names}`, leaseMs: LEASE_MS };
      case 'worked':
        return { kind, ...named };
      case 'failed':
        return { kind, code: 'busy', ...named };
      case 'return':
        return probe === undefined ? undefined : { kind, probe };
      default:
        return undefined;
    }
  }

  act(worker: number, kind: string, now: number): void {
    const command = this.command(worker, kind);
    const before = this.seen[worker] ?? FRESH_BREAKER;
    if (command === undefined) {
      this.seen[worker] = this.head;
      return;
    }
    const verdict = decideBreaker(before, command, POLICY, now);
    if (command.kind !== 'admit') this.probes[worker] = undefined;
    if (verdict.kind !== 'append') return;
    const stands = verdict.event.seq === this.events.length + 1;
    if (stands) this.events.push(verdict.event);
    this.seen[worker] = this.head;
    if (stands && command.kind === 'admit') this.probes[worker] = command.probe;
  }
}

it('whatever workers do, and however late they see it, one probes at a time', () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(moves, (tried) => {
      const ledger = new Ledger();
      let now = 1_000_000;
      for (const { worker, kind, waitMs, skewMs } of tried) {
        now += waitMs;
        ledger.act(worker, kind, now + skewMs);
      }
      let before = FRESH_BREAKER;
      for (const event of ledger.events) {
        reached.add(event.type);
        expect(event.seq).toBe(before.seq + 1);
        expect(event.at).toBeGreaterThanOrEqual(before.at);
        const { state } = before;
        const { after } = event;
        if (event.type === 'probe_granted') {
          // Never beside a living probe, never before the time is over.
          const free = state.kind === 'half_open' ? state.until + SKEW_MS : state;
          if (typeof free === 'number') expect(event.at).toBeGreaterThanOrEqual(free);
          else expect(free.kind).toBe('open');
        }
        if (event.type === 'breaker_closed') expect(state.kind).toBe('half_open');
        if (after.kind === 'closed') expect(after.failures.length).toBeLessThan(POLICY.failures);
        if (after.kind === 'open' && state.kind !== 'closed') expect(after.since).toBe(state.since);
        before = evolveBreaker(before, event);
      }
    }),
    { numRuns: 500 },
  );
  expect([...reached].sort()).toEqual([
    'breaker_closed',
    'breaker_opened',
    'failure_counted',
    'probe_granted',
    'probe_returned',
  ]);
});
