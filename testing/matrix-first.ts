import { safeParse } from 'zod/v4/core';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';
import type { End, Played } from './play.ts';

/** What must be so before it is worth playing failures: else most of them show nothing. */

/** @throws Error where the saga would refuse the input */
export function demandInput(saga: AnySaga, input: unknown): void {
  const read = safeParse(saga.input, input);
  if (read.success) return;
  const issues = read.error.issues.map(
    ({ path, message }) => `/${path.map(String).join('/')}: ${message}`,
  );
  throw new Error(
    `the input does not fit saga "${saga.name}": ${issues.join('; ')}; give one that does, as failureMatrix(saga, { input })`,
  );
}

/**
 * A saga completes where nothing fails, and could be undone.
 * @throws Error naming the step, and what to mend
 */
export function demandSound(saga: AnySaga, { end, events }: Pick<Played, 'end' | 'events'>): void {
  for (const event of events) {
    if (event.type !== 'step_committed' || event.undo?.kind !== 'unavailable') continue;
    throw new Error(
      `the undo of "${event.step}" cannot be made from what its call answers where nothing fails (${event.undo.why}): mend \`compensate.from\`, or give an answer it can be made from, as failureMatrix(saga, { outputs })`,
    );
  }
  if (end !== 'completed' && saga.plan.deadlineMs === undefined) throw endsBadly(saga, end, events);
}

function endsBadly(saga: AnySaga, end: End, events: readonly SagaEvent[]): Error {
  const failure = events.find((event) => event.type === 'step_failed');
  const doubt = events.find((event) => event.type === 'step_in_doubt');
  const defect = events.find(
    (event) => event.type === 'step_committed' && event.defect !== undefined,
  );
  const why =
    failure?.type === 'step_failed'
      ? `: step "${failure.step}" fails, ${failure.code} (${failure.message})`
      : defect?.type === 'step_committed'
        ? `: the answer of step "${defect.step}" is refused, ${defect.defect?.code ?? ''} (${defect.defect?.message ?? ''})`
        : doubt?.type === 'step_in_doubt'
          ? `: step "${doubt.step}" is in doubt, ${doubt.code} (${doubt.message})`
          : '';
  return new Error(`saga "${saga.name}" ends as ${end} where nothing fails${why}`);
}
