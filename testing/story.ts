import type { SagaEvent } from '../statemachines/rules/events.ts';
import { describeStrike, sagaName, type WorldPlan } from './strikes.ts';
import type { Outcome, WorldResult } from './world.ts';

const TOLD = [
  'step',
  'action',
  'attempt',
  'round',
  'reason',
  'answer',
  'decision',
  'code',
  'failure',
];

/** What was started, what struck, what was written, what broke: in words. */
export function storyOf(plan: WorldPlan, result: WorldResult, drawn: number): string {
  const started = plan.started.flatMap((each, index) =>
    each === undefined
      ? []
      : [`  saga ${index}: "${each.saga.name}" for ${each.tenant} at +${each.atMs} ms`],
  );
  const strikes = plan.strikes.map((each) => `  ${describeStrike(each)}`);
  const broken = result.outcomes.filter(({ findings }) => findings.length > 0);
  const origin = Math.min(...result.outcomes.map(({ events }) => events[0]?.at ?? Infinity));
  return [
    'Started:',
    ...started,
    strikes.length === 0
      ? 'Nothing went wrong around it.'
      : `Struck by ${strikes.length} of ${drawn} drawn faults:`,
    ...strikes,
    ...broken.flatMap((each) => chapter(each, origin)),
    ...result.findings.map((finding) => `Broken: ${finding}`),
  ].join('\n');
}

function chapter(outcome: Outcome, origin: number): string[] {
  const { index, id, end, findings, events, effects, outbox = [] } = outcome;
  const at = (time: number): string => `+${time - origin}`;
  return [
    `The ledger of ${sagaName(index)} (${id.tenant}/${id.sagaId}), which is ${end}:`,
    ...events.map((event) => `  ${line(event, at)}`),
    `What its providers did:`,
    ...effects.map((effect) => {
      const undoes = effect.reverses === undefined ? '' : `, which undoes ${effect.reverses}`;
      return `  ${at(effect.at)} ${effect.id}${undoes}`;
    }),
    ...(outbox.length === 0 ? [] : ['What the outbox made of it:']),
    ...outbox.map((told) => `  ${at(told.at)} ${told.text}`),
    ...findings.map((finding) => `Broken: ${finding}`),
  ];
}

function line(event: SagaEvent, at: (time: number) => string): string {
  const members: Readonly<Record<string, unknown>> = { ...event };
  const told = TOLD.filter((name) => members[name] !== undefined)
    .map((name) => `${name}=${String(members[name])}`)
    .join(' ');
  const due = event.dueAt === undefined ? '' : ` due ${at(event.dueAt)}`;
  return `${event.seq} ${at(event.at)} ${event.type} [${event.state}, epoch ${event.epoch} ${event.drive}${due}] ${told}`.trimEnd();
}
