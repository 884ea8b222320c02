import type { AnySaga } from '../statemachines/language/saga.ts';
import { Chance } from './chance.ts';
import { drawStrikes } from './draw.ts';
import { exampleOf } from './example.ts';
import { drawOutboxStrikes } from './outbox-strikes.ts';
import { demandOutputs, type ProviderOptions } from './providers.ts';
import { shrink } from './shrink.ts';
import { storyOf } from './story.ts';
import type { Started, WorldPlan } from './strikes.ts';
import { playWorld, type WorldOptions, type WorldResult } from './world.ts';

export interface SimulateOptions {
  /**
   * What is started. A definition whose name comes twice is a later version of the first: it is deployed
   * in the middle of some worlds.
   */
  readonly sagas: readonly AnySaga[];
  /** The first seed. Default 1. */
  readonly seed?: number;
  /** How many seeds, one after the other. Default 1. */
  readonly seeds?: number;
  /** Sagas in one world. Default 8. */
  readonly count?: number;
  /** Default two tenants. */
  readonly tenants?: readonly string[];
  /** Inputs by a saga's name, in place of examples made from its schema. */
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** What a tool answers, by its name, in place of an example made from its output schema. */
  readonly outputs?: ProviderOptions['outputs'];
  /** How often the outbox runs beside, from 0 to 1. Default one world in eight. */
  readonly outboxShare?: number;
  /** Told after each seed. */
  readonly progress?: (seed: number, result: WorldResult) => void;
}

export interface Simulation {
  readonly firstSeed: number;
  readonly seeds: number;
  readonly sagas: number;
  readonly events: number;
  /** How many sagas came to each end. */
  readonly ends: Readonly<Record<string, number>>;
}

/** Thrown where a simulated world breaks an invariant. Its message is the shortest story found. */
export class SimulationBroken extends Error {
  override readonly name = 'Counterstep.SimulationBroken';
  /** Replays it. */
  readonly seed: number;
  readonly findings: readonly string[];
  constructor(seed: number, findings: readonly string[], story: string) {
    super(`seed ${seed} breaks an invariant: ${findings[0] ?? ''}\n\n${story}`);
    this.seed = seed;
    this.findings = findings;
  }
}

const DEFAULT_COUNT = 8;
const CAST = 3;
const OUTBOX_SHARE = 1 / 8;
/** How many starts are another tenant's too. */
const TWINS = 0.08;
const TENANTS = ['acme', 'globex'];
const STARTS_WITHIN_MS = 20_000;

/**
 * Plays whole worlds: several sagas of several tenants at once, several workers with clocks that differ,
 * interleaved at every await, under faults drawn from the seed. Everything follows from the seed.
 *
 * @throws SimulationBroken at the first seed that breaks an invariant, with its story
 */
export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const { seed: firstSeed = 1, seeds = 1 } = options;
  demandOutputs(options.sagas, options.outputs);
  const ends: Record<string, number> = {};
  let sagas = 0;
  let events = 0;
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const result = await simulateSeed(options, seed);
    const { broken } = result;
    if (broken.length > 0) throw new SimulationBroken(seed, broken, await tell(options, seed));
    for (const { end } of result.outcomes) ends[end] = (ends[end] ?? 0) + 1;
    sagas += result.outcomes.length;
    events += result.events;
    options.progress?.(seed, result);
  }
  return { firstSeed, seeds, sagas, events, ends };
}

/** One world, without judgement. */
export function simulateSeed(options: SimulateOptions, seed: number): Promise<WorldResult> {
  return playWorld(planOf(options, seed), worldOptions(options));
}

/** The shortest story of a seed that breaks something. */
export async function tell(options: SimulateOptions, seed: number): Promise<string> {
  const plan = planOf(options, seed);
  const world = worldOptions(options);
  const shrunk = await shrink(plan, (candidate) =>
    playWorld(candidate, world).then(({ broken }) => broken),
  );
  const result = await playWorld(shrunk.plan, world);
  return storyOf(shrunk.plan, result, plan.strikes.length);
}

/** What happens in the world of a seed. */
export function planOf(options: SimulateOptions, seed: number): WorldPlan {
  const chance = new Chance(seed);
  const { first, later } = versions(options.sagas);
  const { count = DEFAULT_COUNT, tenants = TENANTS, inputs } = options;
  const drawn = chance.apart('starts');
  // A few definitions a world, so that sagas of one kind meet each other too.
  const cast = Array.from({ length: CAST }, () => drawn.pick(first));
  const started = Array.from({ length: count }, (_, index): Started => {
    const saga = drawn.pick(cast);
    const given = inputs?.[saga.name];
    const input = given ?? exampleOf(saga.input, 'the input', { number: seed * 100 + index });
    const atMs = drawn.between(0, STARTS_WITHIN_MS);
    return { saga, tenant: drawn.pick(tenants), key: `key-${index}`, atMs, input };
  });
  meet(chance.apart('twins'), started, tenants);
  const strikes = drawStrikes(chance.apart('strikes'), started, later.length > 0);
  // Apart, so that a world without it is the same whether others have it or not.
  const beside = chance.apart('outbox');
  if (!beside.happens(options.outboxShare ?? OUTBOX_SHARE)) return { seed, started, strikes };
  return {
    seed,
    started,
    strikes: [...strikes, ...drawOutboxStrikes(beside, count)],
    outbox: true,
  };
}

/** Some starts are those of another tenant once more: the same key, the same body, the same moment. */
function meet(chance: Chance, started: Started[], tenants: readonly string[]): void {
  for (const index of started.keys()) {
    if (index === 0 || !chance.happens(TWINS)) continue;
    const other = chance.pick(started.slice(0, index));
    const strangers = tenants.filter((each) =>
      started.every((one) => one.tenant !== each || one.key !== other.key),
    );
    if (strangers.length === 0) continue;
    const atMs = other.atMs + chance.between(0, 20);
    started[index] = { ...other, tenant: chance.pick(strangers), atMs };
  }
}

function worldOptions(options: SimulateOptions): WorldOptions {
  const { outputs } = options;
  const { later } = versions(options.sagas);
  return { later, ...(outputs === undefined ? {} : { outputs }) };
}

function versions(sagas: readonly AnySaga[]): {
  readonly first: readonly AnySaga[];
  readonly later: readonly AnySaga[];
} {
  const first = new Map<string, AnySaga>();
  const later: AnySaga[] = [];
  for (const saga of sagas) {
    if (first.has(saga.name)) later.push(saga);
    else first.set(saga.name, saga);
  }
  return { first: [...first.values()], later };
}
