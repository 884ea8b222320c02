import type { AnySaga } from '../statemachines/language/saga.ts';
import { FINAL_STATES } from '../statemachines/rules/events.ts';
import {
  type Befalls,
  type Ends,
  FORWARD_ENDS,
  type MatrixCase,
  mishapAt,
  type Part,
  partOf,
  together,
  UNDONE,
  UNDONE_ENDS,
} from './matrix-case.ts';
import type { Base } from './matrix-faults.ts';
import { demandSound } from './matrix-first.ts';
import type { Triggered, Triggers } from './matrix-triggers.ts';
import type { Played } from './play.ts';
import type { StoreMoment } from './worker-stores.ts';

/** Plays the saga with its input, and with this beside it. */
export type Run = (part: Part) => Promise<Played>;

interface BaseSpec extends Befalls, Ends {
  readonly name: string;
  /** Nothing but the plane's own faults will disturb it: then it ends as it does without them. */
  readonly steady?: true;
}

/** The saga all the way forward, as much of it undone as can be, and contained where it can be. */
export async function plainBases(saga: AnySaga, run: Run, triggers: Triggers): Promise<Base[]> {
  const forward = { name: 'forward', ...FORWARD_ENDS, strikes: [], steady: true } as const;
  const looked: Run = async (part) => {
    const ran = await run(part);
    demandSound(saga, ran);
    return ran;
  };
  const bases = [await baseOf(saga, looked, forward)];
  const widest = await triggers.widest();
  const last = saga.steps.at(-1)?.name ?? '';
  const given =
    widest?.trigger.part ?? (() => ({ trigger: mishapAt(last, 'forward', 'refused', true) }));
  bases.push(
    await baseOf(saga, run, {
      name: 'undone',
      given,
      strikes: [],
      steady: true,
      ...undoneBy(widest),
    }),
  );
  for (const step of saga.steps.filter(({ tool }) => tool.effect === 'irreversible')) {
    const contained = await triggers.for(step);
    if (contained === undefined) continue;
    const { part } = contained.trigger;
    const name = `${step.name} contained`;
    bases.push(await baseOf(saga, run, { name, given: part, strikes: [], ...undoneBy(contained) }));
  }
  return bases;
}

function undoneBy(triggered: Triggered | undefined): Ends {
  const all = triggered?.trigger.fleeting === true ? (['completed'] as const) : [];
  return { mayRest: [...UNDONE_ENDS.mayRest, ...all], mayEnd: [...UNDONE, ...all] };
}

/** One failure, as the middle of what else strikes. */
export function failedBase(saga: AnySaga, run: Run, failure: MatrixCase): Promise<Base> {
  const { name, given, strikes, mayRest, mayEnd } = failure;
  const step = saga.steps.find((each) => each.name === failure.step);
  // Either alone leaves a try; both may spend the last one.
  const spends = saga.plan.budget !== undefined || (step?.tool.forward.retry.maxAttempts ?? 0) <= 2;
  return baseOf(saga, run, {
    name,
    ...(given === undefined ? {} : { given }),
    strikes,
    mayRest: [...new Set([...mayRest, 'needs_review' as const])],
    mayEnd: spends ? [...new Set([...mayEnd, ...UNDONE])] : mayEnd,
  });
}

/** Runs the saga without faults of the plane, and notes where they can strike. */
async function baseOf(saga: AnySaga, run: Run, spec: BaseSpec): Promise<Base> {
  const storeWrites: { index: number; what: string }[] = [];
  const claims: { index: number; step: string }[] = [];
  // A call that answers with a failure has no `after`: the write that follows it is struck instead.
  const providerCalls: Base['providerCalls'][number][] = [];
  let finalWrite: number | undefined;
  let current: StoreMoment | undefined;
  let over = false;
  const noting: Part = {
    faults: {
      store: (moment) => {
        current = moment;
        if (moment.phase === 'before' && moment.writes && !over)
          storeWrites.push({ index: moment.index, what: `${moment.store} ${moment.operation}` });
        return undefined;
      },
      provider: (index, phase) => {
        providerCalls.push({ index, phase });
        return undefined;
      },
    },
    appended: (event) => {
      if (event.type === 'step_claimed' && current !== undefined)
        claims.push({ index: current.index, step: `${event.step}/${event.action}` });
      over = event.drive === 'ended';
      if (FINAL_STATES.includes(event.state)) finalWrite ??= current?.index;
    },
  };
  const { name, given, strikes } = spec;
  const ran = await run(together([noting, partOf(spec, new Set())]));
  // Any fault may take until after the deadline, and what is overdue is undone.
  const overdue = saga.plan.deadlineMs === undefined ? [] : UNDONE;
  return {
    name,
    ...(given === undefined ? {} : { given }),
    strikes,
    storeWrites,
    claims,
    ...(finalWrite === undefined ? {} : { finalWrite }),
    providerCalls,
    invocations: ran.counts.invocation,
    starts: ran.counts.start,
    mayRest: [...spec.mayRest, ...overdue],
    mayEnd: [...spec.mayEnd, ...overdue],
    ...(overdue.length === 0 && spec.steady === true ? { steady: ran.end } : {}),
  };
}
