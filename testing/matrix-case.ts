import type { DefinedStep } from '../statemachines/language/saga.ts';
import type { Action } from '../statemachines/rules/events.ts';
import type { Mishap } from './mishaps.ts';
import type { PlaneFaults } from './plane-options.ts';
import type { End, Play, Played } from './play.ts';
import type { ProviderCall, ProviderOptions } from './providers.ts';

/** A part of what befalls a saga in one play; several make one script. */
export interface Part extends Pick<Play, 'faults' | 'delayMs' | 'oneEach' | 'skewMs'> {
  /** Mended once a person had to decide on it. */
  readonly mishap?: NonNullable<ProviderOptions['mishap']>;
  readonly question?: NonNullable<ProviderOptions['questionMishap']>;
  readonly latencyMs?: number;
  /** As `mishap`, but nobody mends it. */
  readonly trigger?: NonNullable<ProviderOptions['mishap']>;
  readonly meanwhile?: NonNullable<Play['meanwhile']>;
  readonly appended?: NonNullable<Play['appended']>;
}

/**
 * Makes what strikes, anew for every play. What it answers to the plane counts as a strike by itself;
 * what acts from outside says so by calling `struck`.
 */
export type Strike = (struck: () => void) => Part;

/** What befalls a saga. */
export interface Befalls {
  /** What the failure needs before it can strike. */
  readonly given?: () => Part;
  /** Each of them has to strike, or else nothing was put to the test. */
  readonly strikes: readonly Strike[];
}

export type Group =
  | 'failure'
  | 'undo'
  | 'question'
  | 'outside'
  | 'crash'
  | 'invocation'
  | 'start'
  | 'lease';

/** Where it may come to rest by itself, and where it may end after a person has answered. */
export interface Ends {
  readonly mayRest: readonly End[];
  readonly mayEnd: readonly End[];
}

/** One cell of the matrix, before it is played. */
export interface MatrixCase extends Befalls, Ends {
  /** Unique; naming it plays this case alone. */
  readonly name: string;
  readonly group: Group;
  /** The step it strikes, where it strikes one. */
  readonly step?: string;
  readonly failure: string;
  /** The same failure, of the call after one that failed in another way. Absent: no second call follows. */
  readonly again?: Strike;
  /** It breaks a contract, so nothing else may befall the same saga. */
  readonly alone?: true;
  /** Another call follows it, and what befalls that one is heard of. */
  readonly passes?: true;
  /** The step whose own call has to go a certain way: no other failure of it leaves that. */
  readonly takes?: string;
  /** Why it cannot strike, where that is known beforehand. */
  readonly unreachable?: string;
  /** What else has to hold afterwards. @returns findings */
  demand?(ran: Played): readonly string[];
}

export const UNDONE: readonly End[] = ['compensated', 'incident'];

/** Where a saga that nothing but the plane's own faults strike may end. */
export const FORWARD_ENDS: Ends = {
  mayRest: ['completed', 'needs_review'],
  mayEnd: ['completed'],
};

/** Where a saga may end that is refused for good. */
export const UNDONE_ENDS: Ends = { mayRest: [...UNDONE, 'needs_review'], mayEnd: UNDONE };

/** One mishap of one step's calls: the first, or all. `recovery`: whichever undo it has. */
export function mishapAt(
  step: string,
  action: Action | 'recovery',
  mishap: Mishap,
  always = false,
  nth = 1,
): NonNullable<Part['mishap']> {
  return (call: ProviderCall) =>
    isCall(call, step, action) && (always || call.nth === nth) ? mishap : undefined;
}

export function isCall(call: ProviderCall, step: string, action: Action | 'recovery'): boolean {
  const same = action === 'recovery' ? call.action !== 'forward' : call.action === action;
  return call.step === step && same;
}

/** The call of the step's undo, where it has one. */
export function undoCall(
  step: DefinedStep,
): NonNullable<DefinedStep['tool']['contain']> | undefined {
  const { tool } = step;
  return tool.effect === 'irreversible' ? tool.contain : tool.compensate?.call;
}

/** All of it, each strike noted in `struck` by its place. */
export function partOf({ given, strikes }: Befalls, struck: Set<number>): Part {
  const parts = strikes.map((strike, index) => {
    const note = (): void => void struck.add(index);
    return watched(strike(note), note, () => struck.has(index));
  });
  return together(given === undefined ? parts : [...parts, given()]);
}

type Ask<A extends readonly unknown[], R> = (...args: A) => R | undefined;

function noting<A extends readonly unknown[], R>(ask: Ask<A, R>, note: () => void): Ask<A, R> {
  return (...args) => {
    const answer = ask(...args);
    if (answer !== undefined) note();
    return answer;
  };
}

function watched(part: Part, note: () => void, struck: () => boolean): Part {
  const { mishap, question, faults, ...rest } = part;
  const { store, provider, invocation, start } = faults ?? {};
  const noted = {
    ...(store === undefined ? {} : { store: noting(store, note) }),
    ...(provider === undefined ? {} : { provider: noting(provider, note) }),
    ...(invocation === undefined ? {} : { invocation: noting(invocation, note) }),
    ...(start === undefined ? {} : { start: noting(start, note) }),
  };
  return together([
    {
      ...rest,
      ...(faults === undefined ? {} : { faults: noted }),
      ...(question === undefined ? {} : { question: noting(question, note) }),
    },
    ...(mishap === undefined ? [] : [mended(noting(mishap, note), struck)]),
  ]);
}

/** Once a person has decided on what failed for ever, it has been mended. What struck later fails yet. */
function mended(mishap: NonNullable<Part['mishap']>, struck: () => boolean): Part {
  let over = false;
  return {
    trigger: (call) => (over ? undefined : mishap(call)),
    appended: (event) => {
      over ||= event.type === 'review_decided' && struck();
    },
  };
}

/** The first that has an answer gives it. */
function first<A extends readonly unknown[], R>(
  asked: readonly (((...args: A) => R | undefined) | undefined)[],
): ((...args: A) => R | undefined) | undefined {
  const all = asked.flatMap((ask) => (ask === undefined ? [] : [ask]));
  if (all.length < 2) return all[0];
  return (...args) => {
    for (const ask of all) {
      const answer = ask(...args);
      if (answer !== undefined) return answer;
    }
    return undefined;
  };
}

/** Several parts at once; where only one can have its way, the earlier one has it. */
export function together(parts: readonly Part[]): Part {
  const mishap = first(parts.map((part) => part.mishap));
  const question = first(parts.map((part) => part.question));
  const trigger = first(parts.map((part) => part.trigger));
  const acts = parts.flatMap((part) => (part.meanwhile === undefined ? [] : [part.meanwhile]));
  const hears = parts.flatMap((part) => (part.appended === undefined ? [] : [part.appended]));
  const faults = parts.flatMap((part) => (part.faults === undefined ? [] : [part.faults]));
  const { delayMs } = parts.find((part) => part.delayMs !== undefined) ?? {};
  const { skewMs } = parts.find((part) => part.skewMs !== undefined) ?? {};
  const { latencyMs } = parts.find((part) => part.latencyMs !== undefined) ?? {};
  return {
    oneEach: parts.some((part) => part.oneEach === true),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(skewMs === undefined ? {} : { skewMs }),
    ...(latencyMs === undefined ? {} : { latencyMs }),
    ...(mishap === undefined ? {} : { mishap }),
    ...(question === undefined ? {} : { question }),
    ...(trigger === undefined ? {} : { trigger }),
    ...(faults.length === 0 ? {} : { faults: faultsOf(faults) }),
    ...(acts.length === 0
      ? {}
      : {
          meanwhile: async (plane, id) => {
            await Promise.all(acts.map((act) => act(plane, id)));
          },
        }),
    ...(hears.length === 0
      ? {}
      : {
          appended: (event, plane) => {
            for (const hear of hears) hear(event, plane);
          },
        }),
  };
}

function faultsOf(all: readonly PlaneFaults[]): PlaneFaults {
  const store = first(all.map((faults) => faults.store));
  const provider = first(all.map((faults) => faults.provider));
  const invocation = first(all.map((faults) => faults.invocation));
  const start = first(all.map((faults) => faults.start));
  return {
    ...(store === undefined ? {} : { store }),
    ...(provider === undefined ? {} : { provider }),
    ...(invocation === undefined ? {} : { invocation }),
    ...(start === undefined ? {} : { start }),
  };
}

/** Where two things befall it, it may end as either of them lets it. */
export function eitherEnds(left: Ends, right: Ends): Ends {
  return {
    mayRest: [...new Set([...left.mayRest, ...right.mayRest, 'needs_review' as const])],
    mayEnd: [...new Set([...left.mayEnd, ...right.mayEnd])],
  };
}
