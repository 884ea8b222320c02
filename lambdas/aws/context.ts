import type { Clock } from '../ports/clock.ts';
import type { Invocation } from '../tool/request.ts';

/** What the handlers use of Lambda's second argument. */
export interface LambdaContext {
  getRemainingTimeInMillis(): number;
  readonly awsRequestId?: string;
}

/** A function as Lambda calls it. */
export type LambdaHandler<Event, Answer> = (
  event: Event,
  context: LambdaContext,
) => Promise<Answer>;

/**
 * When Lambda ends this invocation, on the host's clock. Read anew each time: the host's clock may
 * be corrected on the way, when the store first answers.
 */
export function invocationOf(context: LambdaContext, clock: Clock): Invocation {
  return {
    get endsAt() {
      return clock.now() + context.getRemainingTimeInMillis();
    },
  };
}
