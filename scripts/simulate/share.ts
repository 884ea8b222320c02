import { type SimulateOptions, simulateSeed } from 'counterstep/testing';
import { simulatedSagas } from './sagas.ts';

/** Definitions of any shape beside the examples. */
const SHAPES = 24;

export const OPTIONS: SimulateOptions = { sagas: simulatedSagas(SHAPES) };

/** Some seeds in a row, for one process. */
export interface Share {
  readonly from: number;
  readonly seeds: number;
}

export interface ShareResult extends Share {
  readonly sagas: number;
  readonly events: number;
  readonly ends: Readonly<Record<string, number>>;
  readonly broken: readonly { readonly seed: number; readonly findings: readonly string[] }[];
}

export async function playShare({ from, seeds }: Share): Promise<ShareResult> {
  let sagas = 0;
  let events = 0;
  const ends: Record<string, number> = {};
  const broken: { seed: number; findings: readonly string[] }[] = [];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = await simulateSeed(OPTIONS, seed);
    sagas += result.outcomes.length;
    events += result.events;
    for (const { end } of result.outcomes) ends[end] = (ends[end] ?? 0) + 1;
    if (result.broken.length > 0) broken.push({ seed, findings: result.broken });
  }
  return { from, seeds, sagas, events, ends, broken };
}
