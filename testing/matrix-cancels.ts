import type { AnySaga, DefinedStep } from '../statemachines/language/saga.ts';
import { FINAL_STATES, type SagaEvent } from '../statemachines/rules/events.ts';
import { cancel, cancelAt, idIn } from './matrix-acts.ts';
import {
  type MatrixCase,
  mishapAt,
  type Part,
  type Strike,
  together,
  UNDONE,
} from './matrix-case.ts';
import type { Undoable } from './matrix-cases.ts';
import { type Base, endsOf, SLOW_MS } from './matrix-faults.ts';
import type { Mishap } from './mishaps.ts';
import type { SimulatedPlane } from './plane.ts';
import type { Played } from './play.ts';

/** Asked back from outside: while each step is under way, waits, or is undone, and at the very end. */
export function cancelCases(
  saga: AnySaga,
  undoables: readonly Undoable[],
  bases: readonly Base[],
): MatrixCase[] {
  return [
    atStart(),
    ...saga.steps.flatMap((step) => duringStep(saga, step)),
    ...saga.steps.filter(isPivot).map((step) => behindPivot(saga, step)),
    ...undoables.flatMap(duringUndo),
    ...bases.flatMap(atTheEnd),
  ];
}

function isPivot({ tool }: DefinedStep): boolean {
  return tool.effect === 'irreversible';
}

function cell(
  failure: string,
  at: string,
  step?: string,
): Pick<MatrixCase, 'name' | 'group' | 'failure'> {
  const where = step === undefined ? {} : { step };
  return { name: `cancelled ${at}`, group: 'outside', failure: `cancelled ${failure}`, ...where };
}

/** Nothing has been done, so nothing is to be undone, and nobody to be asked. */
function atStart(): MatrixCase {
  return {
    ...cell('at its start', 'at its start'),
    mayRest: ['compensated'],
    mayEnd: ['compensated'],
    strikes: [(struck) => cancelAt(({ type }) => type === 'saga_started', struck)],
  };
}

type Moment = readonly [
  failure: string,
  given: Part,
  when: (event: SagaEvent) => boolean,
  more?: { readonly times: number },
];

function duringStep(saga: AnySaga, step: DefinedStep): MatrixCase[] {
  const { name, tool } = step;
  const mishap = (of: Mishap): Part => ({ trigger: mishapAt(name, 'forward', of) });
  const forEver = (of: Mishap): Part => ({ mishap: mishapAt(name, 'forward', of, true) });
  const of = (event: SagaEvent): boolean =>
    'step' in event && event.step === name && 'action' in event && event.action === 'forward';
  const claimed = (event: SagaEvent): boolean => event.type === 'step_claimed' && of(event);
  const asked = (event: SagaEvent): boolean =>
    event.type === 'review_opened' && event.steps.includes(name);
  const slow: Part = { latencyMs: 20 };
  const moments: Moment[] = [
    ['in time', slow, claimed],
    ['while its answer is lost', { ...slow, ...mishap('answer_lost') }, claimed],
    ['twice at once, and once more', slow, claimed, { times: 2 }],
    [
      'while its answer is pending',
      mishap('pending_then_done'),
      (event) => event.type === 'step_reconciled' && event.answer === 'pending' && of(event),
    ],
    ['while a person is asked', mishap('held'), asked],
  ];
  if (tool.forward.retry.maxAttempts > 1) {
    moments.push([
      'between two tries',
      mishap('throttled'),
      (event) => event.type === 'step_failed' && of(event),
    ]);
  }
  if (tool.effect !== 'read_only') {
    moments.push(['while a person is asked about its answer', forEver('pending_for_ever'), asked]);
  }
  return moments.map(([failure, given, when, more]): MatrixCase => {
    const cancels: Strike = (struck) => {
      const first = cancelAt(when, struck, more);
      if (more === undefined) return first;
      const again = cancelAt(
        (event) => event.type === 'recovery_planned',
        () => {},
      );
      return {
        appended: (event, plane) => {
          first.appended?.(event, plane);
          again.appended?.(event, plane);
        },
      };
    };
    return {
      ...cell(failure, `during ${name}, ${failure}`, name),
      mayRest: [...UNDONE, 'completed', 'needs_review'],
      mayEnd: [...UNDONE, 'completed'],
      ...(given.trigger === undefined && given.mishap === undefined ? {} : { takes: name }),
      given: () => given,
      strikes: [cancels],
      demand: (ran) => [...atMostOne(ran), ...honoured(saga, step, ran)],
    };
  });
}

function requests({ events }: Played): readonly SagaEvent[] {
  return events.filter((event) => event.type === 'cancel_requested');
}

function atMostOne(ran: Played): string[] {
  const { length } = requests(ran);
  return length > 1 ? [`end: it was asked back once, and ${length} requests stand`] : [];
}

/** Where the request stands, and no pivot has committed, it is undone. */
function honoured({ plan }: AnySaga, step: DefinedStep, ran: Played): string[] {
  const pivots = plan.steps
    .filter(({ effect }) => effect === 'irreversible')
    .map((each) => each.name);
  const committed = ran.events.some(
    (event) =>
      (event.type === 'step_committed' || event.type === 'review_decided') &&
      event.step !== undefined &&
      pivots.includes(event.step),
  );
  const undone = ran.finally === 'compensated' || ran.finally === 'incident';
  if (requests(ran).length === 0 || committed || undone) return [];
  return [`end: it was asked back during ${step.name}, and is ${ran.finally}`];
}

/** Nothing that was asked for stands from this event on. */
function refusedFrom(
  when: (event: SagaEvent) => boolean,
  what: string,
): NonNullable<MatrixCase['demand']> {
  return ({ events }) => {
    const from = events.findIndex(when);
    const late = events.find((event, at) => at > from && event.type === 'cancel_requested');
    return from < 0 || late === undefined
      ? []
      : [`10: cancel_requested ${late.seq} stands although ${what}`];
  };
}

/** Behind the pivot the saga goes on to its end, whoever asks it back. */
function behindPivot(saga: AnySaga, { name }: DefinedStep): MatrixCase {
  const commits = (event: SagaEvent): boolean =>
    event.type === 'step_committed' && event.step === name && event.action === 'forward';
  return {
    ...cell('behind the pivot', `behind ${name}`, name),
    mayRest: ['completed'],
    mayEnd: ['completed'],
    strikes: [(struck) => cancelAt(commits, struck)],
    demand: refusedFrom(commits, `${saga.name} had passed its pivot`),
  };
}

/** Recovery is never cancelled. */
function duringUndo({ step, triggered, given, unreachable }: Undoable): MatrixCase[] {
  const { name } = step;
  const begins = (event: SagaEvent): boolean =>
    event.type === 'step_claimed' && event.action !== 'forward';
  const claimed = (event: SagaEvent): boolean =>
    begins(event) && 'step' in event && event.step === name;
  const failed = (event: SagaEvent): boolean =>
    event.type === 'review_opened' && event.steps.includes(name);
  const common = {
    mayEnd: unreachable === undefined ? UNDONE : (['completed'] as const),
    ...(unreachable === undefined ? {} : { unreachable }),
    demand: refusedFrom(begins, 'recovery was under way'),
  };
  const rest = unreachable === undefined ? UNDONE : (['completed'] as const);
  return [
    {
      ...cell('during an undo', `during the undo of ${name}`, name),
      ...common,
      mayRest: triggered?.alone === true ? rest : [...rest, 'needs_review'],
      ...(given === undefined ? {} : { given }),
      strikes: [(struck) => cancelAt(claimed, struck)],
    },
    {
      ...cell(
        'during an undo that failed',
        `during the undo of ${name}, while a person is asked`,
        name,
      ),
      ...common,
      mayRest: [...rest, 'needs_review'],
      given: () =>
        together([
          { trigger: mishapAt(name, 'recovery', 'refused', true) },
          ...(given === undefined ? [] : [given()]),
        ]),
      strikes: [
        (struck) => {
          let undoing = false;
          const asks = cancelAt((event) => undoing && failed(event), struck);
          return {
            appended: (event, plane) => {
              undoing ||= claimed(event);
              asks.appended?.(event, plane);
            },
          };
        },
      ],
    },
  ];
}

/** When its writer is about to write the final event, and when it has. */
function atTheEnd(base: Base): MatrixCase[] {
  const { finalWrite, steady } = base;
  if (finalWrite === undefined) return [];
  const ends = (event: SagaEvent): boolean => FINAL_STATES.includes(event.state);
  const demand = refusedFrom(ends, 'it had come to its end');
  const common = { ...(base.given === undefined ? {} : { given: base.given }), demand };
  const before: Strike = () => {
    let seen: SimulatedPlane | undefined;
    return {
      delayMs: SLOW_MS,
      appended: (_event, plane) => {
        seen = plane;
      },
      faults: {
        store: ({ index, phase }) => {
          if (index !== finalWrite || phase !== 'before' || seen === undefined) return undefined;
          void cancel(seen, idIn(seen));
          return 'slow';
        },
      },
    };
  };
  return [
    {
      ...cell('just before its end', `just before the end of ${base.name}`),
      mayRest: [...new Set([...UNDONE, ...base.mayRest])],
      mayEnd: [...new Set([...UNDONE, ...base.mayEnd])],
      ...common,
      strikes: [...base.strikes, before],
    },
    {
      ...cell('just after its end', `just after the end of ${base.name}`),
      ...endsOf(base),
      ...(steady === undefined ? {} : { mayRest: [steady] }),
      ...common,
      strikes: [...base.strikes, (struck) => cancelAt(ends, struck)],
    },
  ];
}
