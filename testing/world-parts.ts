import type { AnySaga } from '../statemachines/language/saga.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';
import type { Chance } from './chance.ts';
import type { Task } from './execution.ts';
import type { PolicyOptions, PolicyQuestion } from './policies.ts';
import type { ProviderCall, ProviderOptions } from './providers.ts';
import { RERUN, type Started, type Strike } from './strikes.ts';
import { versionOf } from './versions.ts';

/** Names a moment of one call: looked up at each of them, so it is a number. */
export function momentOf(index: number, phase: 'before' | 'after'): number {
  return 2 * index + (phase === 'after' ? 1 : 0);
}

/** Strikes by what looks for them. */
export function sorted(strikes: readonly Strike[]) {
  const of = <K extends Strike['kind']>(kind: K): Extract<Strike, { kind: K }>[] =>
    strikes.filter((each): each is Extract<Strike, { kind: K }> => each.kind === kind);
  return {
    store: new Map(of('store').map((each) => [momentOf(each.index, each.phase), each])),
    call: new Map(of('call').map((each) => [momentOf(each.index, each.phase), each])),
    invocation: new Map(of('invocation').map((each) => [each.index, each])),
    start: new Map(of('start').map((each) => [each.index, each])),
    outages: of('outage'),
    provider: of('provider'),
    question: of('question'),
    policy: of('policy'),
    review: of('review'),
    rerun: of('rerun'),
    lease: of('lease'),
  };
}

export type Sorted = ReturnType<typeof sorted>;
type Answer<K extends 'mishap' | 'questionMishap'> = ReturnType<NonNullable<ProviderOptions[K]>>;

export function mishapOf(
  { provider }: Sorted,
  saga: number | undefined,
  { step, action, nth }: ProviderCall,
): Answer<'mishap'> {
  return provider.find(
    (each) =>
      each.saga === saga &&
      each.step === step &&
      (each.action === 'forward') === (action === 'forward') &&
      nth >= each.nth &&
      nth < each.nth + each.times,
  )?.mishap;
}

export function questionMishapOf(
  { question }: Sorted,
  saga: number | undefined,
  { step, nth }: ProviderCall,
): Answer<'questionMishap'> {
  return question.find((each) => each.saga === saga && each.step === step && nth <= each.times)
    ?.mishap;
}

/** Only the tools whose policy has something to say in this world have one. */
export function policiesOf(
  { policy }: Sorted,
  started: readonly (Started | undefined)[],
  indexOf: (id: PolicyQuestion) => number | undefined,
): PolicyOptions {
  const tools = policy.flatMap(({ saga, step }) => {
    const definition = started[saga % RERUN]?.saga;
    return definition?.steps.find(({ name }) => name === step)?.tool.name ?? [];
  });
  return {
    tools: new Set(tools),
    mishap: (asked) => {
      const saga = indexOf(asked);
      return policy.find(
        (each) =>
          each.saga === saga &&
          each.step === asked.step &&
          asked.nth >= each.nth &&
          asked.nth < each.nth + each.times,
      )?.mishap;
    },
  };
}

/** What strikes the lease of a claim. */
export function leaseOf(
  { lease }: Sorted,
  saga: number,
  { step, action, attempt }: Extract<SagaEvent, { type: 'step_claimed' }>,
): Extract<Strike, { kind: 'lease' }> | undefined {
  return lease.find(
    (each) =>
      each.saga === saga &&
      each.step === step &&
      (each.action === 'forward') === (action === 'forward') &&
      each.attempt === attempt,
  );
}

/** What a deploy brings of what a world started. */
export function deployedBy(
  { change, of, place = 0 }: Extract<Strike, { kind: 'deploy' }>,
  started: readonly (Started | undefined)[],
  later: readonly AnySaga[],
): readonly AnySaga[] {
  const first = current(started.flatMap((each) => each?.saga ?? []));
  if (change === 'given') {
    const names = first.map((saga) => saga.name);
    return later.filter((saga) => names.includes(saga.name));
  }
  const own = first.find((saga) => saga.name === of);
  if (own === undefined || change === 'back') return own === undefined ? [] : [own];
  const version = versionOf(own, change, place);
  return version === undefined ? [] : [version];
}

export function taskName(saga: string, { step, action }: Pick<Task, 'step' | 'action'>): string {
  return `${saga} ${step} ${action}`;
}

/** Each definition once. */
export function current(sagas: readonly AnySaga[]): AnySaga[] {
  return [...new Map(sagas.map((saga) => [saga.name, saga])).values()];
}

/** Mostly quick, now and then slow: so that what was begun first need not end first. */
export function latency(chance: Chance): number {
  const sort = chance.fraction();
  if (sort < 0.75) return chance.between(1, 15);
  return sort < 0.97 ? chance.between(15, 200) : chance.between(200, 2_500);
}
