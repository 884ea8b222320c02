import type { SagaView } from '../../lambdas/service/wire.ts';
import { clean, type Output, pairs, shortTime, table } from './output.ts';

/** A saga for a person: what it is, and each step forward and back. */
export function sagaText(saga: SagaView, output: Output): string {
  const { halt, review, incident } = saga;
  const closed = incident?.closed === undefined ? '' : ` (closed by ${incident.closed.by})`;
  const head = pairs([
    ['saga', saga.id],
    ['definition', `${saga.name} ${saga.version}`],
    ['previous', saga.previous],
    ['run again', saga.rerun === undefined ? undefined : `as ${saga.rerun}`],
    ['started', shortTime(saga.startedAt)],
    ['changed', shortTime(saga.changedAt)],
    ['next look', saga.dueAt === undefined ? undefined : shortTime(saga.dueAt)],
    ['drive', `${saga.drive.state}, epoch ${saga.drive.epoch}`],
    ['erased', saga.erased === true ? 'its arguments and results are gone' : undefined],
    [
      'stopped by',
      halt === undefined
        ? undefined
        : [halt.reason, halt.budget && 'of the saga', halt.step, halt.code]
            .filter((part) => part !== undefined)
            .join(', '),
    ],
    ['undo costs', saga.recoveryCost === undefined ? undefined : costText(saga.recoveryCost)],
    ['review', review === undefined ? undefined : `${review.id}: ${review.explanation}`],
    [
      'incident',
      incident === undefined ? undefined : `${incident.id}: ${incident.explanation}${closed}`,
    ],
  ]);
  const rows = saga.steps.map((step) => [
    step.name,
    step.tool,
    step.effect,
    step.forward.state,
    String(step.forward.attempts),
    step.compensation.state,
    idsText({ ...step.forward.externalIds, ...step.compensation.externalIds }),
    step.compensation.failure?.code ?? step.forward.failure?.code ?? '',
  ]);
  const steps = table(
    ['STEP', 'TOOL', 'EFFECT', 'FORWARD', 'TRIES', 'BACK', 'IDS', 'FAILURE'],
    rows,
  );
  const failures = saga.steps.flatMap(({ name, forward, compensation }) => [
    ...failureText(name, forward),
    ...failureText(`undo of ${name}`, compensation),
  ]);
  const why = failures.length === 0 ? '' : `\n\n${failures.join('\n')}`;
  const to = saga.checkpoint === undefined ? '' : ` to checkpoint ${saga.checkpoint}`;
  return `state       ${output.state(saga.state)}${to}\n${head}\n\n${steps}${why}`;
}

/** What the table has only the code of. */
function failureText(
  name: string,
  { failure }: SagaView['steps'][number]['forward' | 'compensation'],
): string[] {
  if (failure === undefined || failure.message === '') return [];
  return [clean(`${name}: ${failure.code}: ${failure.message}`)];
}

function costText(cost: NonNullable<SagaView['recoveryCost']>): string {
  const { spentMinor, reservedMinor, limitMinor, overLimitMinor, currency } = cost;
  const parts = [`${spentMinor} spent`];
  if (reservedMinor > 0) parts.push(`${reservedMinor} set aside`);
  if (limitMinor !== undefined) parts.push(`limit ${limitMinor}`);
  if (overLimitMinor !== undefined) parts.push(`${overLimitMinor} over it`);
  return `${parts.join(', ')} ${currency} (minor units)`;
}

export function idsText(ids: Readonly<Record<string, string>>): string {
  return Object.entries(ids)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
