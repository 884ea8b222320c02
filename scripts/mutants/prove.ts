import { parseArgs } from 'node:util';
import type { AnySaga } from 'counterstep';
import {
  failureMatrix,
  MatrixBroken,
  NoSuchCase,
  type SimulateOptions,
  simulateSeed,
} from 'counterstep/testing';
import { order } from '../../examples/order/saga.ts';
import { refund } from '../../examples/refund/saga.ts';
import { optionsOf, WORLD_SIZE } from '../simulate/share.ts';
import type { Found } from './mutant.ts';
import { probes } from './probes.ts';
import { small } from './sagas.ts';

/**
 * Puts the engine it is bundled with to the test, and ends with the first finding: one line of JSON. What
 * users have too comes first, matrices and worlds; probes are asked last, for what those did not find.
 */
const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '300' } },
});

type Stage = () => Promise<Found | undefined>;

process.stdout.write(`${JSON.stringify(await prove())}\n`);
// A call that is never answered would keep nothing alive, but a handle of a package might.
process.exit();

async function prove(): Promise<Found | null> {
  const all: readonly Stage[] = [
    ...[...small, refund, order].map((saga) => () => matrix(saga)),
    seeds,
    ...Object.entries(probes).map(
      ([name, run]) =>
        () =>
          probed(name, run),
    ),
  ];
  for (const stage of all) {
    const found = await stage();
    if (found !== undefined) return found;
  }
  return null;
}

async function probed(
  name: string,
  run: () => Promise<readonly string[]>,
): Promise<Found | undefined> {
  const [finding] = await run();
  return finding === undefined ? undefined : { by: `probe: ${name}`, finding };
}

/** Parts of a matrix, by what their cases are called: a mutant is mostly found in the first ones. */
function partsOf(saga: AnySaga): readonly string[] {
  const steps = saga.steps.map(({ name }) => `${name}: `);
  const faults = ['start ', 'the claim of', 'invocation', 'error ', 'crash ', 'restart ', 'slow '];
  return ['undo of', 'cancelled', ...steps, ...faults.map((fault) => `: ${fault}`)];
}

async function matrix(saga: AnySaga): Promise<Found | undefined> {
  for (const only of partsOf(saga)) {
    try {
      await failureMatrix(saga, { only });
    } catch (error) {
      const by = `matrix: ${saga.name}`;
      if (error instanceof NoSuchCase) continue;
      if (!(error instanceof MatrixBroken)) return { by, finding: messageOf(error) };
      const [cell] = error.matrix.broken;
      return { by: `${by}, ${cell?.case ?? ''}`, finding: cell?.findings[0] ?? '' };
    }
  }
  return undefined;
}

async function seeds(): Promise<Found | undefined> {
  const usual = optionsOf(WORLD_SIZE);
  const options: SimulateOptions = { ...usual, sagas: [...usual.sagas, ...small] };
  for (let seed = 1; seed <= Number(values.seeds); seed += 1) {
    const { broken } = await simulateSeed(options, seed);
    if (broken[0] !== undefined) return { by: `seed ${seed}`, finding: broken[0] };
  }
  return undefined;
}

/** The matrix refuses a saga that does not end as it should where nothing fails. */
function messageOf(error: unknown): string {
  if (error instanceof Error && error.message.includes('where nothing fails')) return error.message;
  throw error;
}
