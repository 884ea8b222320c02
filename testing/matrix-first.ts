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
  const failures = events.flatMap((event) =>
    event.type === 'step_failed'
      ? [`step "${event.step}" fails, ${event.code} (${event.message})`]
      : [],
  );
  const defects = events.flatMap((event) =>
    event.type === 'step_committed' && event.defect !== undefined
      ? [
          `the answer of step "${event.step}" is refused, ${event.defect.code} (${event.defect.message})`,
        ]
      : [],
  );
  const doubts = events.flatMap((event) =>
    event.type === 'step_in_doubt'
      ? [`step "${event.step}" is in doubt, ${event.code} (${event.message})`]
      : [],
  );
  const [why] = [...failures, ...defects, ...doubts];
  const told = why === undefined ? '' : `: ${why}`;
  return new Error(`saga "${saga.name}" ends as ${end} where nothing fails${told}`);
}
