import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import { cancelSaga, resumeSaga } from '../lambdas/service/change.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { Action } from '../statemachines/rules/events.ts';
import { SKEW_MS } from '../statemachines/rules/protocol.ts';
import { INVOCATION_FAULTS, type InvocationFault } from './execution.ts';
import { BREACHES, callPolicy, type Mishap, mishapsOf, TERMINAL_MISHAPS } from './mishaps.ts';
import { isRefusal, type SimulatedPlane } from './plane.ts';
import { START_FAULTS } from './plane-options.ts';
import type { End, Play } from './play.ts';
import type { ProviderCall, ProviderOptions } from './providers.ts';
import type { StoreFault } from './worker-stores.ts';

/** One cell of the matrix, before it is played. */
export interface MatrixCase {
  /** Unique; naming it plays this case alone. */
  readonly name: string;
  readonly group: 'failure' | 'undo' | 'outside' | 'crash' | 'invocation' | 'start' | 'lease';
  /** The step it strikes, where it strikes one. */
  readonly step?: string;
  readonly failure: string;
  /** Where it may come to rest by itself, and where it may end after a person has answered. */
  readonly mayRest: readonly End[];
  readonly mayEnd: readonly End[];
  readonly play: Partial<Play>;
}

/** What an undisturbed run of the same saga did: where faults can strike. */
export interface Base {
  /** Names the run: what happens in it beside the fault. */
  readonly name: string;
  readonly trigger: ProviderOptions['mishap'];
  readonly storeWrites: readonly { readonly index: number; readonly what: string }[];
  readonly claims: readonly { readonly index: number; readonly step: string }[];
  readonly providerCalls: number;
  readonly invocations: number;
  readonly starts: number;
  readonly mayRest: readonly End[];
  readonly mayEnd: readonly End[];
  /** Where it ends undisturbed: so it does where only an answer of a store, or a start, was lost. */
  readonly steady?: End;
}

const UNDONE: readonly End[] = ['compensated', 'incident'];
/** Beyond every lease and every machine's patience with a task of the examples' kind. */
const LONG_MS = 90_000;
/** Longer than a lease, shorter than the patience of whoever writes. */
const SLOW_MS = 9_000;

/** The longest tries of a provider that is throttled for good, and then some. */
const ALWAYS: readonly Mishap[] = ['refused', 'pending_for_ever'];

function strikes(step: string, action: Action | 'recovery', mishap: Mishap, always: boolean) {
  return (call: ProviderCall): Mishap | undefined => {
    const same = action === 'recovery' ? call.action !== 'forward' : call.action === action;
    return call.step === step && same && (always || call.nth === 1) ? mishap : undefined;
  };
}

interface Variant {
  readonly mishap: Mishap;
  readonly always: boolean;
  readonly failure: string;
}

/** Each mishap once, and for good those that can last. */
function variantsOf(mishaps: readonly Mishap[]): Variant[] {
  const once = mishaps.map((mishap) => {
    const always = ALWAYS.includes(mishap);
    return { mishap, always, failure: mishap };
  });
  const lasting = (['throttled', 'silent', 'answer_lost'] as const).map((mishap) => ({
    mishap,
    always: true,
    failure: `${mishap} for ever`,
  }));
  return [...once, ...lasting];
}

/** Every way in which a step's forward call can fail. */
export function failureCases(saga: AnySaga): MatrixCase[] {
  return saga.steps.flatMap((step) =>
    variantsOf(mishapsOf(step.tool, 'forward')).map(({ mishap, always, failure }): MatrixCase => {
      const terminal = TERMINAL_MISHAPS.includes(mishap);
      const spends = always || step.tool.forward.retry.maxAttempts === 1;
      const deadline = saga.plan.deadlineMs !== undefined;
      const reads = step.tool.effect === 'read_only';
      const ends: End[] = terminal ? [] : ['completed'];
      if (terminal || spends || deadline || (reads && mishap === 'pending_then_dropped'))
        ends.push(...UNDONE);
      // A second effect, once it is heard of, is shown as an incident.
      if (BREACHES.includes(mishap)) ends.push('incident');
      const held = mishap === 'held' ? UNDONE : [];
      // What passes by itself is tried again, and nobody is asked.
      const passes = mishap === 'throttled' && !spends;
      return {
        name: `${step.name}: ${failure}`,
        group: 'failure',
        step: step.name,
        failure,
        mayRest: passes ? ends : [...ends, 'needs_review'],
        // A person may find it pointless to go on.
        mayEnd: [...ends, ...held],
        play: { providers: { mishap: strikes(step.name, 'forward', mishap, always) } },
      };
    }),
  );
}

/**
 * What makes the saga undo a step: a refusal of a later one, or, for the last, an answer that deviates.
 * Nothing where no failure could lead there.
 */
export function triggerFor(saga: AnySaga, step: string): ProviderOptions['mishap'] {
  const index = saga.steps.findIndex((each) => each.name === step);
  const later = saga.steps.slice(index + 1).at(-1);
  return later === undefined
    ? strikes(step, 'forward', 'deviates', false)
    : strikes(later.name, 'forward', 'refused', true);
}

function triggered(trigger: ProviderOptions['mishap']): Pick<Play, 'trigger'> {
  return trigger === undefined ? {} : { trigger };
}

/** Its recovery may need a person's word though nothing fails. */
function asksAPerson({ plan }: AnySaga): boolean {
  return plan.ceiling !== undefined || plan.steps.some(({ effect }) => effect === 'human_decision');
}

/** Every way in which the recovery of a step can fail. */
export function undoCases(saga: AnySaga): MatrixCase[] {
  return saga.steps.flatMap((step) => {
    const action = saga.plan.steps.find((each) => each.name === step.name)?.recovery?.action;
    const call = action === undefined ? undefined : callPolicy(step.tool, action);
    const called = action === 'contain' ? step.tool.contain : step.tool.compensate;
    if (action === undefined || call === undefined || called === undefined) return [];
    const trigger = triggerFor(saga, step.name);
    // The last step is undone for its unusable answer, which may leave nothing to undo it with.
    const tries = call.retry.maxAttempts > 1 && !asksAPerson(saga) && step !== saga.steps.at(-1);
    return variantsOf(mishapsOf(step.tool, action)).map(({ mishap, always, failure }) => {
      const fails = strikes(step.name, 'recovery', mishap, always);
      return {
        name: `undo of ${step.name}: ${failure}`,
        group: 'undo',
        step: step.name,
        failure,
        mayRest: tries && mishap === 'throttled' && !always ? UNDONE : [...UNDONE, 'needs_review'],
        mayEnd: UNDONE,
        play: { providers: { mishap: fails }, ...triggered(trigger) },
      } satisfies MatrixCase;
    });
  });
}

/** Asked back from outside, while each step is under way. */
export function cancelCases(saga: AnySaga): MatrixCase[] {
  return saga.steps.flatMap((step) =>
    (['in time', 'while its answer is lost'] as const).map((failure): MatrixCase => {
      let cancelled = false;
      return {
        name: `cancelled during ${step.name}, ${failure}`,
        group: 'outside',
        step: step.name,
        failure: `cancelled ${failure}`,
        mayRest: [...UNDONE, 'completed', 'needs_review'],
        mayEnd: [...UNDONE, 'completed'],
        play: {
          providers: {
            latencyMs: () => 20,
            mishap: strikes(step.name, 'forward', 'answer_lost', false),
            ...(failure === 'in time' ? { mishap: () => undefined } : {}),
          },
          appended: (event, plane) => {
            if (cancelled || event.type !== 'step_claimed' || event.step !== step.name) return;
            cancelled = true;
            const [key = ''] = plane.heads.keys();
            const at = key.indexOf('/');
            void cancel(plane, { tenant: key.slice(0, at), sagaId: key.slice(at + 1) });
          },
        },
      };
    }),
  );
}

async function cancel(plane: SimulatedPlane, id: LedgerId): Promise<void> {
  const body = '{"reason":"no longer wanted"}';
  await outside(() =>
    plane.ask(id.tenant, (parts, principal) => cancelSaga(parts, principal, id.sagaId, body)),
  );
}

/** A request that the rules may refuse: then it simply changes nothing. */
async function outside(request: () => Promise<unknown>): Promise<void> {
  try {
    await request();
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

/** A process, a worker or a store fails at every write and every call of the base run. */
export function crashCases(base: Base): MatrixCase[] {
  const cases: MatrixCase[] = [];
  const add = (name: string, failure: string, faults: NonNullable<Play['faults']>): void => {
    const ends = failure.startsWith('error') ? steadyEnds(base) : endsOf(base);
    const play = { ...triggered(base.trigger), faults, delayMs: SLOW_MS };
    cases.push({ name, group: 'crash', failure, ...ends, play });
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
  for (let index = 1; index <= base.providerCalls; index += 1) {
    for (const phase of ['before', 'after'] as const) {
      for (const fault of ['crash', 'restart'] as const satisfies StoreFault[]) {
        add(`${base.name}: ${fault} ${phase} provider call ${index}`, `${fault} ${phase} a call`, {
          provider: (nth, when) => (nth === index && when === phase ? fault : undefined),
        });
      }
    }
  }
  return cases;
}

function endsOf({ mayRest, mayEnd }: Base): Pick<MatrixCase, 'mayRest' | 'mayEnd'> {
  return { mayRest, mayEnd };
}

function steadyEnds(base: Base): Pick<MatrixCase, 'mayRest' | 'mayEnd'> {
  return base.steady === undefined ? endsOf(base) : { ...endsOf(base), mayRest: [base.steady] };
}

/** Where a saga that nothing but the plane's own faults strike may end. */
export const FORWARD_ENDS = {
  mayRest: ['completed', 'needs_review'],
  mayEnd: ['completed'],
} as const satisfies Pick<MatrixCase, 'mayRest' | 'mayEnd'>;

/** Where a saga may end that is refused for good. */
export const UNDONE_ENDS = {
  mayRest: [...UNDONE, 'needs_review'],
  mayEnd: UNDONE,
} satisfies Pick<MatrixCase, 'mayRest' | 'mayEnd'>;

/** Everything that befalls the providers in a case, as what other faults strike into. */
export function triggerOf({ play }: MatrixCase): ProviderOptions['mishap'] {
  return (call) => play.providers?.mishap?.(call) ?? play.trigger?.(call);
}

/** Every invocation is refused, delayed, duplicated, repeated, or loses its answer. */
export function invocationCases(base: Base): MatrixCase[] {
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
        play: {
          ...triggered(base.trigger),
          delayMs,
          oneEach: true,
          faults: { invocation: (nth) => (nth === index ? fault : undefined) },
        },
      });
    }
  }
  return cases;
}

/** Every start of an execution is lost, fails, comes late, or is made twice. */
export function startCases(base: Base): MatrixCase[] {
  const cases: MatrixCase[] = [];
  for (let index = 1; index <= base.starts; index += 1) {
    for (const fault of START_FAULTS) {
      cases.push({
        name: `${base.name}: start ${index} ${fault}`,
        group: 'start',
        failure: `start ${fault}`,
        ...steadyEnds(base),
        play: {
          ...triggered(base.trigger),
          delayMs: LONG_MS,
          oneEach: true,
          faults: { start: (nth) => (nth === index ? fault : undefined) },
        },
      });
    }
  }
  return cases;
}

/** Each holder of a claim falls silent, and somebody asks to go on as soon as its lease is over. */
export function leaseCases(base: Base): MatrixCase[] {
  return base.claims.flatMap(({ index, step }) =>
    ([1_000, -1_000] as const).map((skewMs): MatrixCase => {
      const clock = skewMs > 0 ? 'ahead' : 'behind';
      return {
        name: `${base.name}: the claim of ${step} (store call ${index}) is left, by a clock ${clock}, and resumed`,
        group: 'lease',
        step,
        failure: 'resumed after its lease',
        ...endsOf(base),
        play: {
          ...triggered(base.trigger),
          skewMs,
          faults: {
            store: ({ index: nth, phase }) =>
              nth === index && phase === 'after' ? 'hang' : undefined,
          },
          meanwhile: resumeAfterLeases,
        },
      };
    }),
  );
}

/** Asks to go on at the end of every lease, a little early and as soon as it is over. */
async function resumeAfterLeases(plane: SimulatedPlane, id: LedgerId): Promise<void> {
  const { world } = plane.time;
  for (let looks = 0; looks < 20; looks += 1) {
    await world.sleep(500);
    if (plane.rests(id)) return;
    const claim = plane.events(id).findLast((event) => event.type === 'step_claimed');
    if (claim?.type !== 'step_claimed') continue;
    for (const until of [
      claim.leaseUntil - 1,
      claim.leaseUntil + SKEW_MS - 1_000,
      claim.leaseUntil + SKEW_MS + 1_000,
    ]) {
      await world.sleep(Math.max(0, until - world.now()));
      await outside(() =>
        plane.ask(id.tenant, (parts, principal) => resumeSaga(parts, principal, id.sagaId, '{}')),
      );
    }
  }
}
