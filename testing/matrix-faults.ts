import { INVOCATION_FAULTS, type InvocationFault } from './execution.ts';
import { resumeAfterLeases } from './matrix-acts.ts';
import type { Befalls, Ends, MatrixCase, Part } from './matrix-case.ts';
import { START_FAULTS } from './plane-options.ts';
import type { End } from './play.ts';
import type { StoreFault } from './worker-stores.ts';

/** What a run without the plane's own faults did: where they can strike. */
export interface Base extends Befalls, Ends {
  /** Names the run: what happens in it beside the fault. */
  readonly name: string;
  readonly storeWrites: readonly { readonly index: number; readonly what: string }[];
  readonly claims: readonly { readonly index: number; readonly step: string }[];
  /** The store call that wrote the final event. */
  readonly finalWrite?: number;
  readonly providerCalls: readonly {
    readonly index: number;
    readonly phase: 'before' | 'after';
  }[];
  readonly invocations: number;
  readonly starts: number;
  /** Where it ends undisturbed: so it does where only an answer of a store, or a start, was lost. */
  readonly steady?: End;
}

/** Beyond every lease and every machine's patience with a task of the examples' kind. */
const LONG_MS = 90_000;
/** Longer than a lease, shorter than the patience of whoever writes. */
export const SLOW_MS = 9_000;

/** A fault of the plane in the middle of what happens in the base run. */
export function within(base: Base, part: Part): Befalls {
  const { given, strikes } = base;
  return { ...(given === undefined ? {} : { given }), strikes: [...strikes, () => part] };
}

export function endsOf({ mayRest, mayEnd }: Base): Ends {
  return { mayRest, mayEnd };
}

function steadyEnds(base: Base): Ends {
  return base.steady === undefined ? endsOf(base) : { ...endsOf(base), mayRest: [base.steady] };
}

export function faultCases(base: Base): MatrixCase[] {
  return [...crashCases(base), ...invocationCases(base), ...startCases(base), ...leaseCases(base)];
}

/** A process, a worker or a store fails at every write and every call of the base run. */
function crashCases(base: Base): MatrixCase[] {
  const cases: MatrixCase[] = [];
  const add = (name: string, failure: string, faults: NonNullable<Part['faults']>): void => {
    const ends = failure.startsWith('error') ? steadyEnds(base) : endsOf(base);
    const befalls = within(base, { faults, delayMs: SLOW_MS });
    cases.push({ name, group: 'crash', failure, ...ends, ...befalls });
  };
  for (const { index, what } of base.storeWrites) {
    for (const phase of ['before', 'after'] as const) {
      for (const fault of ['error', 'crash', 'restart', 'slow'] as const) {
        if (fault === 'slow' && phase === 'after') continue;
        add(
          `${base.name}: ${fault} ${phase} ${what} (store call ${index})`,
          `${fault} ${phase} a write`,
          {
            store: (moment) =>
              moment.index === index && moment.phase === phase ? fault : undefined,
          },
        );
      }
    }
  }
  for (const { index, phase } of base.providerCalls) {
    for (const fault of ['crash', 'restart'] as const satisfies StoreFault[]) {
      add(`${base.name}: ${fault} ${phase} provider call ${index}`, `${fault} ${phase} a call`, {
        provider: (nth, when) => (nth === index && when === phase ? fault : undefined),
      });
    }
  }
  return cases;
}

/** Every invocation is refused, delayed, duplicated, repeated, or loses its answer. */
function invocationCases(base: Base): MatrixCase[] {
  const cases: MatrixCase[] = [];
  const delays: readonly (readonly [InvocationFault, number])[] = [
    ...INVOCATION_FAULTS.map((fault) => [fault, 3_000] as const),
    ['delayed', LONG_MS],
    ['repeated', LONG_MS],
  ];
  for (let index = 1; index <= base.invocations; index += 1) {
    for (const [fault, delayMs] of delays) {
      const late = fault === 'delayed' || fault === 'repeated' ? ` by ${delayMs / 1000} s` : '';
      cases.push({
        name: `${base.name}: invocation ${index} ${fault}${late}`,
        group: 'invocation',
        failure: `${fault}${late}`,
        ...endsOf(base),
        ...within(base, {
          delayMs,
          oneEach: true,
          faults: { invocation: (nth) => (nth === index ? fault : undefined) },
        }),
      });
    }
  }
  return cases;
}

/** Every start of an execution is lost, fails, comes late, or is made twice. */
function startCases(base: Base): MatrixCase[] {
  const cases: MatrixCase[] = [];
  for (let index = 1; index <= base.starts; index += 1) {
    for (const fault of START_FAULTS) {
      cases.push({
        name: `${base.name}: start ${index} ${fault}`,
        group: 'start',
        failure: `start ${fault}`,
        ...steadyEnds(base),
        ...within(base, {
          delayMs: LONG_MS,
          oneEach: true,
          faults: { start: (nth) => (nth === index ? fault : undefined) },
        }),
      });
    }
  }
  return cases;
}

/** Each holder of a claim falls silent, and somebody asks to go on as soon as its lease is over. */
function leaseCases(base: Base): MatrixCase[] {
  return base.claims.flatMap(({ index, step }) =>
    ([1_000, -1_000] as const).map((skewMs): MatrixCase => {
      const clock = skewMs > 0 ? 'ahead' : 'behind';
      return {
        name: `${base.name}: the claim of ${step} (store call ${index}) is left, by a clock ${clock}, and resumed`,
        group: 'lease',
        step,
        failure: 'resumed after its lease',
        ...endsOf(base),
        ...within(base, {
          skewMs,
          faults: {
            store: ({ index: nth, phase }) =>
              nth === index && phase === 'after' ? 'hang' : undefined,
          },
          meanwhile: resumeAfterLeases,
        }),
      };
    }),
  );
}
