import type { AnySaga } from '../statemachines/language/saga.ts';
import type { Chance } from './chance.ts';
import { INVOCATION_FAULTS } from './execution.ts';
import { BREACHES, type Mishap, mishapsOf, QUESTION_MISHAPS, TERMINAL_MISHAPS } from './mishaps.ts';
import { WAYS, type Way } from './person.ts';
import { START_FAULTS } from './plane-options.ts';
import { POLICY_MISHAPS } from './policies.ts';
import { RERUN, type Request, type Started, type Strike } from './strikes.ts';
import { CHANGES } from './versions.ts';
import type { StoreFault } from './worker-stores.ts';

const STORE_FAULTS: readonly StoreFault[] = [
  'error',
  'throttle',
  'crash',
  'crash',
  'hang',
  'slow',
  'slow',
];
/** Store calls of an ordinary saga, roughly: where indices are drawn from. */
const STORE_CALLS = 45;
const INVOCATIONS = 9;
const CALLS = 6;
/** The busy time of a world. */
const BUSY_MS = 90_000;

/** What goes wrong in one world: now little, now a lot. */
export function drawStrikes(
  chance: Chance,
  started: readonly Started[],
  deploys: boolean,
): Strike[] {
  const count = started.length;
  const weather = chance.pick([0.2, 0.6, 1, 1, 1.6]);
  const times = (mean: number): number => {
    const exact = mean * weather * 2 * chance.fraction();
    return Math.floor(exact) + (chance.happens(exact % 1) ? 1 : 0);
  };
  const strikes: Strike[] = [];
  const repeat = (mean: number, draw: () => Strike | readonly Strike[] | undefined): void => {
    for (let left = times(mean); left > 0; left -= 1) strikes.push(...[draw() ?? []].flat());
  };
  for (const [saga, each] of started.entries()) {
    repeat(0.5, () => providerStrike(chance, saga, each.saga, 'terminal'));
    repeat(0.9, () => providerStrike(chance, saga, each.saga, 'passing'));
    repeat(0.4, () => recoveryStrike(chance, saga, each.saga));
    repeat(0.3, () => questionStrike(chance, saga, each.saga));
    repeat(0.2, () => outside(chance, saga, started));
    repeat(0.15, () => twiceOnOneKey(chance, saga, each.saga));
    repeat(0.15, () => inDoubt(chance, saga, each.saga));
    repeat(0.1, () => policyStrike(chance, saga, each.saga));
    repeat(0.12, () => leaseStrike(chance, saga, each.saga));
    repeat(0.25, () => reviewStrike(chance, saga, each.saga));
    repeat(0.2, () => rerunStrikes(chance, saga, each.saga));
  }
  const phase = (): 'before' | 'after' => chance.pick(['before', 'after']);
  repeat(0.4 * count, () => {
    const fault = chance.pick(STORE_FAULTS);
    const index = chance.between(1, STORE_CALLS * count);
    const when = fault === 'throttle' || fault === 'slow' ? 'before' : phase();
    return { kind: 'store', index, phase: when, fault, delayMs: delay(chance) };
  });
  repeat(0.15 * count, () => {
    const index = chance.between(1, CALLS * count);
    return { kind: 'call', index, phase: phase(), fault: 'crash' };
  });
  repeat(0.35 * count, () => {
    const index = chance.between(1, INVOCATIONS * count);
    return {
      kind: 'invocation',
      index,
      fault: chance.pick(INVOCATION_FAULTS),
      delayMs: delay(chance),
    };
  });
  repeat(0.25 * count, () => {
    const index = chance.between(1, 2 * count);
    return { kind: 'start', index, fault: chance.pick(START_FAULTS), delayMs: delay(chance) };
  });
  repeat(0.4, () => outage(chance, started));
  repeat(0.2, () => ({ kind: 'restart', atMs: chance.between(0, BUSY_MS) }));
  if (deploys && chance.happens(0.4)) {
    const atMs = chance.between(0, BUSY_MS);
    strikes.push({ kind: 'deploy', atMs, retained: chance.happens(0.6), change: 'given' });
  }
  repeat(0.3, () => deployStrikes(chance, started));
  return strikes;
}

/** Short of a lease, about as long as one, or far beyond. */
function delay(chance: Chance): number {
  return chance.pick([
    chance.between(1, 500),
    chance.between(500, 8_000),
    chance.between(8_000, 120_000),
  ]);
}

/** Rare, since a saga that waits for a day is a long one. */
const LONG: readonly Mishap[] = ['pending_for_ever'];

const OFTEN = [1, 1, 1, 2, 5];

function providerStrike(
  chance: Chance,
  saga: number,
  definition: AnySaga,
  sort: 'terminal' | 'passing',
): Strike | undefined {
  const { name, tool } = chance.pick(definition.steps);
  const terminal = [...TERMINAL_MISHAPS, 'held'];
  const mishaps = mishapsOf(tool, 'forward').filter(
    (mishap) => terminal.includes(mishap) === (sort === 'terminal') && !BREACHES.includes(mishap),
  );
  const mishap = chance.pick(mishaps);
  if (LONG.includes(mishap) && !chance.happens(0.05)) return undefined;
  const nth = chance.pick([1, 1, 1, 2]);
  const times = sort === 'passing' && !mishap.startsWith('pending') ? chance.pick(OFTEN) : 1;
  return { kind: 'provider', saga, step: name, action: 'forward', nth, times, mishap };
}

function recoveryStrike(chance: Chance, saga: number, definition: AnySaga): Strike | undefined {
  const undone = definition.steps.filter(({ tool }) => tool.compensate ?? tool.contain);
  if (undone.length === 0) return undefined;
  const { name, tool } = chance.pick(undone);
  const mishaps = mishapsOf(tool, 'compensate').filter((each) => !BREACHES.includes(each));
  const mishap = chance.pick(mishaps);
  if (LONG.includes(mishap) && !chance.happens(0.05)) return undefined;
  const nth = chance.pick([1, 1, 2]);
  const times = chance.pick([1, 1, 2]);
  return { kind: 'provider', saga, step: name, action: 'recovery', nth, times, mishap };
}

function questionStrike(chance: Chance, saga: number, definition: AnySaga): Strike | undefined {
  const asked = definition.steps.filter(({ tool }) => tool.reconcile);
  if (asked.length === 0) return undefined;
  const { name } = chance.pick(asked);
  const times = chance.between(1, 3);
  return { kind: 'question', saga, step: name, times, mishap: chance.pick(QUESTION_MISHAPS) };
}

/** What is asked for from outside, by how often. */
const OUTSIDE: readonly Request[] = [
  'cancel',
  'cancel',
  'cancel',
  'cancel_everything',
  'resume',
  'resume',
  'resume_latest',
  'abort',
  'abort',
  'repeat_start',
  'repeat_start',
  'start_other_key',
  'start_other_body',
  'suggest',
  'erase',
  'stranger',
];

function outside(chance: Chance, saga: number, started: readonly Started[]): Strike {
  const kind = chance.pick(OUTSIDE);
  const begins = started[saga]?.atMs ?? 0;
  const after = chance.pick([chance.between(0, 3_000), chance.between(0, 60_000)]);
  // The same start, in the same moment.
  const atOnce = kind === 'repeat_start' && chance.happens(0.5);
  return { kind, saga, atMs: begins + (atOnce ? chance.between(0, 20) : after) };
}

/** One attempt and the next one under the same key, each with a mishap of its own. */
function twiceOnOneKey(chance: Chance, saga: number, definition: AnySaga): Strike[] {
  const { name: step, tool } = chance.pick(definition.steps);
  const unclear = mishapsOf(tool, 'forward').filter((each) => UNCLEAR.includes(each));
  const second = mishapsOf(tool, 'forward').filter(
    (each) => !LONG.includes(each) && !BREACHES.includes(each),
  );
  const strike = { kind: 'provider', saga, step, action: 'forward', times: 1 } as const;
  return [
    { ...strike, nth: 1, mishap: chance.pick(unclear) },
    { ...strike, nth: 2, mishap: chance.pick(second) },
  ];
}

/** After these nobody knows, so that the provider is asked. */
const UNCLEAR: readonly Mishap[] = [
  'answer_lost',
  'request_lost',
  'lands_late',
  'answers_late',
  'silent',
];

/** A call in doubt whose questions go wrong too. */
function inDoubt(chance: Chance, saga: number, definition: AnySaga): Strike[] {
  const asked = definition.steps.filter(({ tool }) => tool.reconcile);
  if (asked.length === 0) return [];
  const { name: step, tool } = chance.pick(asked);
  const unclear = mishapsOf(tool, 'forward').filter((each) => UNCLEAR.includes(each));
  const mishap = chance.pick(unclear);
  const strike = { kind: 'provider', saga, step, action: 'forward', nth: 1, times: 1 } as const;
  const question = { kind: 'question', saga, step, times: chance.between(1, 6) } as const;
  return [
    { ...strike, mishap },
    { ...question, mishap: chance.pick(QUESTION_MISHAPS) },
  ];
}

function policyStrike(chance: Chance, saga: number, definition: AnySaga): Strike {
  const { name: step } = chance.pick(definition.steps);
  const mishap = chance.pick([...POLICY_MISHAPS, 'denies', 'denies'] as const);
  const nth = chance.pick([1, 1, 2]);
  return { kind: 'policy', saga, step, nth, times: chance.pick([1, 1, 3]), mishap };
}

/** A Task that comes again about when a lease ends: mostly of a call that nobody has heard of since. */
function leaseStrike(chance: Chance, saga: number, definition: AnySaga): Strike[] {
  const { name: step, tool } = chance.pick(definition.steps);
  const action = chance.happens(0.7) ? 'forward' : 'recovery';
  const attempt = chance.pick([1, 1, 1, 2]);
  const afterMs = chance.pick([
    chance.between(-50, 50),
    chance.between(1_900, 2_100),
    chance.between(50, 5_000),
  ]);
  const repeated: Strike = { kind: 'lease', saga, step, action, attempt, afterMs };
  if (!chance.happens(0.7)) return [repeated];
  const unclear = mishapsOf(tool, action === 'forward' ? 'forward' : 'compensate').filter((each) =>
    UNCLEAR.includes(each),
  );
  const mishap = chance.pick(unclear);
  return [{ kind: 'provider', saga, step, action, nth: attempt, times: 1, mishap }, repeated];
}

/** Where recovery may cost more than its ceiling, that is mostly what a person is asked about. */
const ABOUT_COSTS: readonly Way[] = ['approve', 'approve_too_little', 'reject', 'resolve'];

function reviewStrike(chance: Chance, saga: number, definition: AnySaga): Strike {
  const nth = chance.pick([1, 1, 1, 2, 3]);
  const ways = definition.plan.ceiling !== undefined && chance.happens(0.5) ? ABOUT_COSTS : WAYS;
  // At once, as fast as a person can, or when everybody has gone home.
  const afterMs = chance.pick([
    chance.between(0, 100),
    chance.between(1_000, 2_000),
    chance.between(1_000, 2_000),
    chance.between(10_000, 300_000),
    chance.between(80_000_000, 100_000_000),
  ]);
  return { kind: 'review', saga, nth, way: chance.pick(ways), afterMs };
}

/** A saga run again once it is compensated, often struck again, at times asked for twice. */
function rerunStrikes(chance: Chance, saga: number, definition: AnySaga): Strike[] {
  const strikes: Strike[] = [];
  for (let origin = saga; ; origin += RERUN) {
    const afterMs = chance.pick([chance.between(0, 50), chance.between(0, 30_000)]);
    strikes.push({ kind: 'rerun', saga: origin, key: 'again', afterMs, ...diesIn(chance) });
    if (chance.happens(0.4)) {
      const key = chance.pick(['again', 'again too']);
      // At once, or when the claim of the first may be over.
      const second = chance.pick([
        afterMs,
        afterMs + chance.between(0, 300),
        chance.between(0, 70_000),
      ]);
      strikes.push({ kind: 'rerun', saga: origin, key, afterMs: second, ...diesIn(chance) });
    }
    const again = origin + RERUN;
    if (!chance.happens(0.6)) return strikes;
    const sort = chance.pick(['terminal', 'terminal', 'passing'] as const);
    strikes.push(...[providerStrike(chance, again, definition, sort) ?? []].flat());
    if (chance.happens(0.3))
      strikes.push(...[recoveryStrike(chance, again, definition) ?? []].flat());
    if (!chance.happens(0.3)) return strikes;
  }
}

/** Running a saga again takes some eight store calls. */
function diesIn(chance: Chance): Pick<Extract<Strike, { kind: 'rerun' }>, 'crash'> {
  if (!chance.happens(0.35)) return {};
  return { crash: { call: chance.between(1, 10), phase: chance.pick(['before', 'after']) } };
}

/** A version that differs from the first; at times the first one comes back. */
function deployStrikes(chance: Chance, started: readonly Started[]): Strike[] {
  const { saga } = chance.pick(started);
  const atMs = chance.between(0, BUSY_MS);
  const of = saga.name;
  // Few places, so that each version is built once and serves many worlds.
  const place = chance.between(0, 1);
  const deploy = { kind: 'deploy', of, retained: chance.happens(0.4) } as const;
  const strikes: Strike[] = [{ ...deploy, atMs, change: chance.pick(CHANGES), place }];
  if (chance.happens(0.4)) {
    const back = atMs + chance.between(1_000, 60_000);
    strikes.push({ ...deploy, atMs: back, retained: chance.happens(0.5), change: 'back' });
  }
  return strikes;
}

function outage(chance: Chance, started: readonly Started[]): Strike {
  const tools = started.flatMap(({ saga }) => saga.steps.map((step) => step.tool.name));
  const fromMs = chance.between(0, BUSY_MS);
  const lasts = chance.pick([chance.between(100, 3_000), chance.between(3_000, 150_000)]);
  const of = chance.pick(['stores', 'sweep', chance.pick(tools)]);
  return { kind: 'outage', of, fromMs, toMs: fromMs + lasts };
}
