import type { SagaView, StepView } from '../../lambdas/service/wire.ts';
import { shortTime } from './output.ts';

type ActionView = StepView['forward'] | StepView['compensation'];

interface Entry {
  /** When it happened. Absent: it is under way. */
  readonly at: string | undefined;
  readonly line: string;
}

/**
 * What happened to a saga between two looks at it, a line each, in the order in which it happened. What
 * came and went between them is not in it.
 */
export function progress(before: SagaView, after: SagaView): string[] {
  const forward = after.steps.map((step, index) =>
    changed(step.name, before.steps[index]?.forward, step.forward),
  );
  const back = after.steps.map((step, index) =>
    changed(undoOf(step), before.steps[index]?.compensation, step.compensation),
  );
  const moved = before.state === after.state ? [] : [stateOf(after)];
  const recovers = after.state === 'compensating';
  // Recovery begins with what stopped the saga, and goes from the last step to the first; of what
  // happened at one moment, and of what is under way, it is told in this order, too.
  const told = [...forward, ...(recovers ? moved : []), ...back.reverse()]
    .filter((entry) => entry !== undefined)
    .sort((left, right) => compare(left.at ?? NEVER, right.at ?? NEVER));
  return [...told, ...(recovers ? [] : moved)].map(({ line }) => line);
}

/** After all that has happened. */
const NEVER = '~';

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

function undoOf({ name, effect }: StepView): string {
  if (effect === 'irreversible') return `containment of ${name}`;
  return `${effect === 'supersede' ? 'superseding' : 'undo'} of ${name}`;
}

function changed(
  name: string,
  before: ActionView | undefined,
  after: ActionView,
): Entry | undefined {
  const { attempts, state, nextAt, committedAt, deferred } = after;
  // A failure stays in the view while the next try is under way: it is told once.
  const failure = before?.failure?.at === after.failure?.at ? undefined : after.failure;
  const putOff = deferred === true && before?.nextAt !== nextAt;
  const same = before?.state === state && before.attempts === attempts;
  const untouched = attempts === 0 && deferred !== true && QUIET.has(state);
  if (untouched || (same && failure === undefined && !putOff)) return undefined;
  const line = [
    `${name}: ${spoken(state)}`,
    attempts > 1 ? ` (call ${attempts})` : '',
    failure === undefined ? '' : `, ${failure.code}: ${failure.message}`,
    deferred === true ? ", not called: its tool's breaker is open" : '',
    nextAt === undefined || OVER.has(state) ? '' : `; next at ${shortTime(nextAt)}`,
  ].join('');
  return { at: state === 'done' ? committedAt : failure?.at, line };
}

/** No further call is made by itself. */
const OVER: ReadonlySet<string> = new Set(['failed_terminal', 'failed']);

/** Nothing of it was begun. */
const QUIET: ReadonlySet<string> = new Set(['pending', 'not_required', 'blocked']);

function stateOf({ state, halt, review, incident }: SagaView): Entry {
  const asked = review ?? incident;
  const why =
    asked === undefined
      ? [halt?.step, halt?.code ?? halt?.reason]
      : [spoken(asked.reason), ...asked.steps];
  const told = why.filter((part) => part !== undefined).join(', ');
  // An answer that was refused leaves its step done: nothing else tells why the saga failed.
  const refused = incident !== undefined && halt?.reason === 'output_refused';
  const answer = refused ? `; its answer was refused: ${halt.code}` : '';
  return {
    at: halt?.at,
    line: told === '' ? spoken(state) : `${spoken(state)} (${told}${answer})`,
  };
}

function spoken(word: string): string {
  return word.replaceAll('_', ' ');
}
