import type { SagaView, StepView } from '../../lambdas/service/wire.ts';
import { shortTime } from './output.ts';

type ActionView = StepView['forward'] | StepView['compensation'];

/** What happened to a saga between two looks at it, a line each. What came and went between them is not in it. */
export function progress(before: SagaView, after: SagaView): string[] {
  const lines = after.steps.flatMap((step, index) => {
    const was = before.steps[index];
    return [
      changed(step.name, was?.forward, step.forward),
      changed(`undo of ${step.name}`, was?.compensation, step.compensation),
    ].filter((line) => line !== undefined);
  });
  return before.state === after.state ? lines : [...lines, stateOf(after)];
}

function changed(
  name: string,
  before: ActionView | undefined,
  after: ActionView,
): string | undefined {
  const same =
    before?.state === after.state &&
    before.attempts === after.attempts &&
    before.failure?.at === after.failure?.at;
  if (same || isQuiet(after)) return undefined;
  const { failure, nextAt, attempts, state } = after;
  const failed = failure !== undefined && state !== 'done';
  return [
    `${name}: ${state.replaceAll('_', ' ')}`,
    attempts > 1 ? ` (try ${attempts})` : '',
    failed ? `, ${failure.code}: ${failure.message}` : '',
    nextAt === undefined ? '' : `; next at ${shortTime(nextAt)}`,
  ].join('');
}

/** Nothing was begun yet, or is to be. */
function isQuiet({ state, attempts }: ActionView): boolean {
  return attempts === 0 && (state === 'pending' || state === 'not_required' || state === 'blocked');
}

function stateOf({ state, halt }: SagaView): string {
  const why = [halt?.step, halt?.code ?? halt?.reason].filter((part) => part !== undefined);
  return `${state.replaceAll('_', ' ')}${why.length === 0 ? '' : ` (${why.join(', ')})`}`;
}
