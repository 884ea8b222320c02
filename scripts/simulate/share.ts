import { type SimulateOptions, simulateSeed } from 'counterstep/testing';
import { simulatedSagas } from './sagas.ts';

/** What a seed needs beside itself to be the same world again. */
export interface WorldSize {
  /** Sagas in one world. */
  readonly count: number;
  /** Definitions of any shape beside those written by hand. */
  readonly shapes: number;
}

export const WORLD_SIZE: WorldSize = { count: 8, shapes: 24 };

export function optionsOf({ count, shapes }: WorldSize): SimulateOptions {
  return { sagas: simulatedSagas(shapes), count };
}

/** The command that plays the same world again, and tells its story. */
export function replayOf(seed: number, { count, shapes }: WorldSize): string {
  const usual = count === WORLD_SIZE.count && shapes === WORLD_SIZE.shapes;
  const size = usual ? '' : ` --count ${count} --shapes ${shapes}`;
  return `npm run simulate -- --only ${seed}${size}`;
}

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

export async function playShare(
  { from, seeds }: Share,
  options: SimulateOptions,
): Promise<ShareResult> {
  let sagas = 0;
  let events = 0;
  const ends: Record<string, number> = {};
  const broken: { seed: number; findings: readonly string[] }[] = [];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = await simulateSeed(options, seed);
    sagas += result.outcomes.length;
    events += result.events;
    for (const { end } of result.outcomes) ends[end] = (ends[end] ?? 0) + 1;
    if (result.broken.length > 0) broken.push({ seed, findings: result.broken });
  }
  return { from, seeds, sagas, events, ends, broken };
}
