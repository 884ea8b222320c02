import { type Usage, usageOf } from '../../bench/deployed.ts';
import type { Kind } from '../../bench/run.ts';
import { ASSUMED, expressMs } from './bill.ts';

/** What a saga of each kind uses. */
export interface Counted {
  /** As deployed by default: as many sagas as fall into two batches of the stream are counted so. */
  readonly usages: Readonly<Record<Kind, Usage>>;
  /** Where every saga falls into one batch, or every one into two. */
  readonly inOneBatch: Readonly<Record<Kind, Usage>>;
  readonly inTwoBatches: Readonly<Record<Kind, Usage>>;
  /** In one batch, where its tenant has a budget. */
  readonly charged: Usage;
}

export async function counted(): Promise<Counted> {
  const inOneBatch = await both(1);
  const inTwoBatches = await both(2);
  const mixed = (kind: Kind): Usage =>
    between(inOneBatch[kind], inTwoBatches[kind], splitShare(inOneBatch[kind]));
  return {
    usages: { completing: mixed('completing'), failing: mixed('failing') },
    inOneBatch,
    inTwoBatches,
    charged: await usageOf('completing', { batches: 1, charged: true }),
  };
}

async function both(batches: number): Promise<Record<Kind, Usage>> {
  return {
    completing: await usageOf('completing', { batches }),
    failing: await usageOf('failing', { batches }),
  };
}

/** How many of the sagas an end of a batch falls into, where one window follows upon the other. */
export function splitShare(usage: Usage, windowMs: number = ASSUMED.windowMs): number {
  return Math.min(1, expressMs(usage) / windowMs);
}

/** Only what the outbox uses depends on how many batches there are. */
export function between(one: Usage, two: Usage, share: number): Usage {
  const mixed = (name: 'writes' | 'reads'): number =>
    one.units.outbox[name] + share * (two.units.outbox[name] - one.units.outbox[name]);
  return {
    ...one,
    units: { ...one.units, outbox: { writes: mixed('writes'), reads: mixed('reads') } },
  };
}
