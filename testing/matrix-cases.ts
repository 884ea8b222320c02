import type { CallPolicy } from '../statemachines/language/effects.ts';
import type { AnySaga, DefinedStep } from '../statemachines/language/saga.ts';
import type { Action } from '../statemachines/rules/events.ts';
import { garbled } from './example.ts';
import { idIn } from './matrix-acts.ts';
import {
  type Ends,
  isCall,
  type MatrixCase,
  mishapAt,
  type Part,
  type Strike,
  together,
  UNDONE,
  UNDONE_ENDS,
  undoCall,
} from './matrix-case.ts';
import type { Triggered, Triggers } from './matrix-triggers.ts';
import {
  BREACHES,
  type Mishap,
  mishapsOf,
  type QuestionMishap,
  TERMINAL_MISHAPS,
} from './mishaps.ts';
import type { SimulatedPlane } from './plane.ts';

/** These last by themselves. */
const ALWAYS: readonly Mishap[] = ['refused', 'pending_for_ever'];

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

/** What can go wrong with this step's own call. A schema that takes whatever comes is deviated from by nothing. */
function forwardMishaps({ tool }: DefinedStep): readonly Mishap[] {
  const refuses = garbled(tool.output) !== undefined;
  return mishapsOf(tool, 'forward').filter(
    (mishap) => refuses || (mishap !== 'deviates' && mishap !== 'garbled'),
  );
}

/** Every way in which a step's forward call can fail. */
export function failureCases(saga: AnySaga): MatrixCase[] {
  return saga.steps.flatMap((step) =>
    variantsOf(forwardMishaps(step)).map(({ mishap, always, failure }): MatrixCase => {
      const ends = failureEnds(saga, step, mishap, always);
      const held = mishap === 'held' ? UNDONE : [];
      // What passes by itself is tried again, and nobody is asked.
      const passes = mishap === 'throttled' && !always && step.tool.forward.retry.maxAttempts > 1;
      return {
        name: `${step.name}: ${failure}`,
        group: 'failure',
        step: step.name,
        failure,
        mayRest: passes ? ends : [...ends, 'needs_review'],
        // A person may find it pointless to go on.
        mayEnd: [...ends, ...held],
        ...callOf(step, 'forward', step.tool.forward, mishap, always),
      };
    }),
  );
}

/** After these no other call is made, or the provider answers it as it did the first. */
const LAST: readonly Mishap[] = [...TERMINAL_MISHAPS, 'held'];

function callOf(
  { name }: DefinedStep,
  action: 'forward' | 'recovery',
  call: CallPolicy | undefined,
  mishap: Mishap,
  always: boolean,
): Pick<MatrixCase, 'strikes' | 'again' | 'passes' | 'alone'> {
  const known = mishap === 'answer_lost' && call?.dedupe === 'key';
  return {
    strikes: [() => ({ mishap: mishapAt(name, action, mishap, always) })],
    again: () => ({ mishap: mishapAt(name, action, mishap, always, 2) }),
    ...(BREACHES.includes(mishap) ? { alone: true } : {}),
    ...(always || known || LAST.includes(mishap) ? {} : { passes: true }),
  };
}

function failureEnds(
  saga: AnySaga,
  step: DefinedStep,
  mishap: Mishap,
  always: boolean,
): MatrixCase['mayEnd'] {
  const terminal = TERMINAL_MISHAPS.includes(mishap);
  const spends = always || step.tool.forward.retry.maxAttempts === 1;
  const reads = step.tool.effect === 'read_only';
  const undone =
    terminal ||
    spends ||
    saga.plan.deadlineMs !== undefined ||
    (reads && mishap === 'pending_then_dropped');
  return [
    ...(terminal ? [] : (['completed'] as const)),
    ...(undone ? UNDONE : []),
    // A second effect, once it is heard of, is shown as an incident.
    ...(BREACHES.includes(mishap) ? (['incident'] as const) : []),
  ];
}

/** The steps whose undo is a call, each with what leads to it. */
export async function undoable(saga: AnySaga, triggers: Triggers): Promise<readonly Undoable[]> {
  const found: Undoable[] = [];
  for (const step of saga.steps) {
    const call = undoCall(step);
    if (call === undefined) continue;
    const triggered = await triggers.for(step);
    const given = triggered?.trigger.part;
    found.push({
      step,
      action: actionOf(step),
      triggered,
      ...(given === undefined ? { unreachable: triggers.whyNever(step) } : { given }),
    });
  }
  return found;
}

export interface Undoable {
  readonly step: DefinedStep;
  readonly action: Action;
  readonly triggered: Triggered | undefined;
  readonly given?: () => Part;
  readonly unreachable?: string;
}

function actionOf({ tool }: DefinedStep): Action {
  if (tool.effect === 'irreversible') return 'contain';
  return tool.effect === 'supersede' ? 'supersede' : 'compensate';
}

/** Every way in which the undo of a step can fail. */
export function undoCases(undoables: readonly Undoable[]): MatrixCase[] {
  return undoables.flatMap(({ step, action, triggered, ...befalls }) => {
    const tries = (undoCall(step)?.retry.maxAttempts ?? 1) > 1 && triggered?.alone === true;
    return variantsOf(mishapsOf(step.tool, action)).map(({ mishap, always, failure }) => {
      const passes = tries && mishap === 'throttled' && !always;
      return {
        name: `undo of ${step.name}: ${failure}`,
        group: 'undo',
        step: step.name,
        failure,
        ...undoneEnds(befalls.unreachable),
        ...(passes ? { mayRest: UNDONE } : {}),
        ...befalls,
        ...callOf(step, 'recovery', undoCall(step), mishap, always),
      } satisfies MatrixCase;
    });
  });
}

/** Without anything that leads to the undo, the saga is played as it is, and completes. */
function undoneEnds(unreachable: string | undefined): Ends {
  return unreachable === undefined
    ? UNDONE_ENDS
    : { mayRest: ['completed', 'needs_review'], mayEnd: ['completed'] };
}

/** After these the provider is asked what became of the call. */
const DOUBTS = ['answer_lost', 'request_lost', 'lands_late', 'pending_then_done'] as const;
/** What it answers then, beside the truth. */
const ANSWERS = ['unknown', 'pending', 'silent', 'fails'] as const;

/**
 * What it may go on answering for good. In the end a person is asked, whatever the doubt began with: so
 * not after each of them.
 */
const LASTING: Readonly<Partial<Record<Mishap, readonly (typeof ANSWERS)[number][]>>> = {
  answer_lost: ANSWERS,
  request_lost: ['unknown'],
};

/** Each ambiguous answer of a step and of an undo, followed by each answer to the question about it. */
export function questionCases(saga: AnySaga, undoables: readonly Undoable[]): MatrixCase[] {
  const forward = saga.steps.flatMap((step): MatrixCase[] => {
    if (!isAsked(step, step.tool.forward)) return [];
    const ends = failureEnds(saga, step, 'answer_lost', false);
    return doubtsOf(step, 'forward').map((doubt) => ({
      ...doubt,
      mayRest: doubt.lasts || !ends.includes('completed') ? [...ends, 'needs_review'] : ends,
      mayEnd: ends,
    }));
  });
  const undo = undoables.flatMap(({ step, triggered, given, unreachable }): MatrixCase[] => {
    const call = undoCall(step);
    if (call === undefined || !isAsked(step, call)) return [];
    return doubtsOf(step, 'recovery').map((doubt) => ({
      ...doubt,
      ...undoneEnds(unreachable),
      ...(doubt.lasts || triggered?.alone !== true ? {} : { mayRest: UNDONE }),
      ...(unreachable === undefined ? {} : { unreachable }),
      given: () => together([doubt.given(), ...(given === undefined ? [] : [given()])]),
    }));
  });
  return [...forward, ...undo];
}

function isAsked({ tool }: DefinedStep, { dedupe }: { readonly dedupe: string }): boolean {
  return tool.reconcile && tool.effect !== 'read_only' && dedupe !== 'none';
}

interface Doubt extends Omit<MatrixCase, keyof Ends> {
  readonly lasts: boolean;
  readonly given: () => Part;
}

function doubtsOf(step: DefinedStep, action: 'forward' | 'recovery'): readonly Doubt[] {
  const title = action === 'forward' ? step.name : `undo of ${step.name}`;
  return DOUBTS.flatMap((mishap) => {
    const doubt = (told: string, lasts: boolean, strike: Strike): Doubt => ({
      name: `${title}: ${mishap}, then asked: ${told}`,
      group: 'question',
      step: step.name,
      failure: `${mishap}, then asked: ${told}`,
      lasts,
      given: () => ({ trigger: mishapAt(step.name, action, mishap) }),
      strikes: [strike],
    });
    const once = ANSWERS.map((answer) =>
      doubt(answer, false, () => ({ question: answerAt(step.name, action, answer, false) })),
    );
    const lasting = LASTING[mishap] ?? [];
    const forEver = lasting.map((answer) =>
      doubt(`${answer} for ever`, true, () => ({
        question: answerAt(step.name, action, answer, true),
      })),
    );
    // Whoever is asked reads from a copy that may be as old as the settle window is long.
    const stale = mishap === 'answer_lost' ? [doubt('absent, too early', false, lagging)] : [];
    return [...once, ...forEver, ...stale];

    function lagging(): Part {
      let seen: SimulatedPlane | undefined;
      return {
        appended: (_event, plane) => {
          seen = plane;
        },
        question: (call) =>
          isCall(call, step.name, action) && seen !== undefined && maySettle(seen, call.step)
            ? 'absent'
            : undefined,
      };
    }
  });
}

function answerAt(
  step: string,
  action: 'forward' | 'recovery',
  answer: QuestionMishap,
  always: boolean,
): NonNullable<Part['question']> {
  return (call) => (isCall(call, step, action) && (always || call.nth === 1) ? answer : undefined);
}

/** Whether the last attempt's settle window is still open. */
function maySettle(plane: SimulatedPlane, step: string): boolean {
  const claim = plane
    .events(idIn(plane))
    .findLast((event) => event.type === 'step_claimed' && event.step === step);
  return claim?.type === 'step_claimed' && plane.time.now() < claim.settleUntil;
}
