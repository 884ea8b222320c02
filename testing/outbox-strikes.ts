import type { Chance } from './chance.ts';

/** What goes wrong between the ledgers and those outside. */
export type OutboxStrike =
  | {
      /** Of the `nth` record that is appended in the world, counted from 1. */
      readonly kind: 'stream';
      readonly nth: number;
      readonly fault: 'lost' | 'late' | 'twice';
      readonly delayMs: number;
    }
  | {
      /** Of the outbox's `index`th call to a ledger, the projection or the bus, counted from 1. */
      readonly kind: 'outbox';
      readonly index: number;
      readonly phase: 'before' | 'after';
      readonly fault: OutboxFault;
      readonly delayMs: number;
    }
  | { readonly kind: 'rebuild'; readonly atMs: number }
  | { readonly kind: 'projection_lost'; readonly atMs: number };

export type OutboxFault =
  /** A store gives an error; the bus refuses: before, one event of the call, after, all that it took. */
  | 'error'
  /** The consumer dies there, and its batch comes again. */
  | 'crash'
  /** The call takes longer, at times than the consumer has; it takes effect all the same. */
  | 'slow';

const KINDS: readonly string[] = ['stream', 'outbox', 'rebuild', 'projection_lost'];

export function isOutboxStrike(strike: { readonly kind: string }): strike is OutboxStrike {
  return KINDS.includes(strike.kind);
}

/** Records and calls of an ordinary saga, roughly: where places are drawn from. */
const RECORDS = 14;
const CALLS = 40;
const BUSY_MS = 120_000;

export function drawOutboxStrikes(chance: Chance, count: number): OutboxStrike[] {
  const weather = chance.pick([0.2, 1, 1, 2]);
  const loses = chance.happens(0.6);
  const strikes: OutboxStrike[] = [];
  const repeat = (mean: number, draw: () => OutboxStrike): void => {
    const left = Math.round(mean * weather * 2 * chance.fraction());
    for (let done = 0; done < left; done += 1) strikes.push(draw());
  };
  const record = (fault: 'lost' | 'late' | 'twice') => (): OutboxStrike => ({
    kind: 'stream',
    nth: chance.between(1, RECORDS * count),
    fault,
    delayMs: delay(chance),
  });
  if (loses) repeat(1.5 * count, record('lost'));
  repeat(count, record('late'));
  repeat(count, record('twice'));
  repeat(2 * count, () => ({
    kind: 'outbox',
    index: chance.between(1, CALLS * count),
    phase: chance.pick(['before', 'after']),
    fault: chance.pick(['error', 'error', 'crash', 'slow']),
    delayMs: delay(chance),
  }));
  const atMs = (): number => chance.between(0, BUSY_MS);
  if (chance.happens(0.2)) strikes.push({ kind: 'rebuild', atMs: atMs() });
  if (chance.happens(0.3)) strikes.push({ kind: 'projection_lost', atMs: atMs() });
  return strikes;
}

function delay(chance: Chance): number {
  return chance.pick([
    chance.between(1, 500),
    chance.between(500, 8_000),
    chance.between(8_000, 120_000),
  ]);
}

/** A strike in words. */
export function describeOutboxStrike(strike: OutboxStrike): string {
  switch (strike.kind) {
    case 'stream': {
      const by = strike.fault === 'lost' ? '' : ` by ${strike.delayMs} ms`;
      return `record ${strike.nth} of the stream: ${strike.fault}${by}`;
    }
    case 'outbox': {
      const by = strike.fault === 'slow' ? ` by ${strike.delayMs} ms` : '';
      return `call ${strike.index} of the outbox: ${strike.fault} ${strike.phase} its effect${by}`;
    }
    case 'rebuild':
      return `the projection is made anew at +${strike.atMs} ms`;
    case 'projection_lost':
      return `the projection is lost at +${strike.atMs} ms`;
  }
}
