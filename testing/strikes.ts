import type { AnySaga } from '../statemachines/language/saga.ts';
import type { Chance } from './chance.ts';
import { INVOCATION_FAULTS, type InvocationFault } from './execution.ts';
import {
  BREACHES,
  type Mishap,
  mishapsOf,
  QUESTION_MISHAPS,
  type QuestionMishap,
  TERMINAL_MISHAPS,
} from './mishaps.ts';
import { describeOutboxStrike, type OutboxStrike } from './outbox-strikes.ts';
import { START_FAULTS, type StartFault } from './plane-options.ts';
import type { StoreFault } from './worker-stores.ts';

/** One thing that goes wrong in a simulated world. A story is told, and shrunk, strike by strike. */
export type Strike =
  | {
      readonly kind: 'provider';
      readonly saga: number;
      readonly step: string;
      readonly action: 'forward' | 'recovery';
      /** Calls `nth` to `nth + times - 1` are struck. */
      readonly nth: number;
      readonly times: number;
      readonly mishap: Mishap;
    }
  | {
      readonly kind: 'question';
      readonly saga: number;
      readonly step: string;
      readonly times: number;
      readonly mishap: QuestionMishap;
    }
  | {
      readonly kind: 'store';
      readonly index: number;
      readonly phase: 'before' | 'after';
      readonly fault: StoreFault;
      readonly delayMs: number;
    }
  | {
      readonly kind: 'call';
      readonly index: number;
      readonly phase: 'before' | 'after';
      readonly fault: 'crash' | 'restart';
    }
  | {
      readonly kind: 'invocation';
      readonly index: number;
      readonly fault: InvocationFault;
      readonly delayMs: number;
    }
  | {
      readonly kind: 'start';
      readonly index: number;
      readonly fault: StartFault;
      readonly delayMs: number;
    }
  | {
      readonly kind: 'outage';
      /** `stores`, `sweep`, or the name of a tool. */
      readonly of: string;
      readonly fromMs: number;
      readonly toMs: number;
    }
  | {
      readonly kind: 'cancel' | 'resume' | 'abort' | 'repeat_start';
      readonly saga: number;
      readonly atMs: number;
    }
  | { readonly kind: 'restart'; readonly atMs: number }
  | { readonly kind: 'deploy'; readonly atMs: number; readonly retained: boolean }
  | OutboxStrike;

/** One saga that is started in a simulated world. */
export interface Started {
  readonly saga: AnySaga;
  readonly tenant: string;
  readonly key: string;
  readonly atMs: number;
  readonly input: unknown;
}

export interface WorldPlan {
  readonly seed: number;
  readonly started: readonly (Started | undefined)[];
  readonly strikes: readonly Strike[];
  /** The outbox runs beside. */
  readonly outbox?: true;
}

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
  const repeat = (mean: number, draw: () => Strike | undefined): void => {
    for (let left = times(mean); left > 0; left -= 1) {
      const strike = draw();
      if (strike !== undefined) strikes.push(strike);
    }
  };
  for (const [saga, each] of started.entries()) {
    repeat(0.5, () => providerStrike(chance, saga, each.saga, 'terminal'));
    repeat(0.9, () => providerStrike(chance, saga, each.saga, 'passing'));
    repeat(0.4, () => recoveryStrike(chance, saga, each.saga));
    repeat(0.3, () => questionStrike(chance, saga, each.saga));
    repeat(0.15, () => outside(chance, saga, started));
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
  if (deploys && chance.happens(0.5)) {
    strikes.push({
      kind: 'deploy',
      atMs: chance.between(0, BUSY_MS),
      retained: chance.happens(0.6),
    });
  }
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

function outside(chance: Chance, saga: number, started: readonly Started[]): Strike {
  const kind = chance.pick(['cancel', 'cancel', 'resume', 'abort', 'repeat_start'] as const);
  const begins = started[saga]?.atMs ?? 0;
  const after = chance.pick([chance.between(0, 3_000), chance.between(0, 60_000)]);
  return { kind, saga, atMs: begins + after };
}

function outage(chance: Chance, started: readonly Started[]): Strike {
  const tools = started.flatMap(({ saga }) => saga.steps.map((step) => step.tool.name));
  const fromMs = chance.between(0, BUSY_MS);
  const lasts = chance.pick([chance.between(100, 3_000), chance.between(3_000, 150_000)]);
  const of = chance.pick(['stores', 'sweep', chance.pick(tools)]);
  return { kind: 'outage', of, fromMs, toMs: fromMs + lasts };
}

/** A strike in words. */
export function describeStrike(strike: Strike): string {
  switch (strike.kind) {
    case 'provider': {
      const { saga, step, action, nth, times, mishap } = strike;
      const which = times === 1 ? `call ${nth}` : `calls ${nth} to ${nth + times - 1}`;
      const what = action === 'forward' ? step : `the undo of ${step}`;
      return `saga ${saga}: ${which} of ${what}: ${mishap}`;
    }
    case 'question':
      return `saga ${strike.saga}: the first ${strike.times} questions about ${strike.step}: ${strike.mishap}`;
    case 'store':
      return `store call ${strike.index}: ${strike.fault} ${strike.phase} its effect${delayed(strike)}`;
    case 'call':
      return `provider call ${strike.index}: ${strike.fault} of the caller ${strike.phase} it`;
    case 'invocation':
      return `invocation ${strike.index}: ${strike.fault}${delayed(strike)}`;
    case 'start':
      return `start ${strike.index} of an execution: ${strike.fault}${delayed(strike)}`;
    case 'outage':
      return `${strike.of} out from +${strike.fromMs} to +${strike.toMs} ms`;
    case 'restart':
      return `the process restarts at +${strike.atMs} ms`;
    case 'deploy':
      return `new versions are deployed at +${strike.atMs} ms, older code is ${strike.retained ? 'retained' : 'gone'}`;
    case 'cancel':
    case 'resume':
    case 'abort':
    case 'repeat_start':
      return `saga ${strike.saga}: ${strike.kind} at +${strike.atMs} ms`;
    case 'stream':
    case 'outbox':
    case 'rebuild':
    case 'projection_lost':
      return describeOutboxStrike(strike);
  }
}

function delayed({ fault, delayMs }: { readonly fault: string; readonly delayMs: number }): string {
  return ['delayed', 'repeated', 'slow'].includes(fault) ? ` by ${delayMs} ms` : '';
}
