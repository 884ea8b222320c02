import { ambiguous, isToolFailure, retryable, type ToolFailure } from './failures.ts';
import { networkCode, wasGivenUp, wasNeverSent } from './network-codes.ts';

/** What was sent when it went wrong. */
export interface Sent {
  /** The request may change something at the provider. A question never does. */
  readonly writes: boolean;
}

/**
 * Classifies what a client threw instead of an answer (`fetch`, undici, `node:http`).
 * - Not sent (refused, unknown host, no route, a handshake that failed): `retryable`.
 * - Sent, or nobody knows (a lost connection, a timeout, an abort): `ambiguous` where it writes.
 * - A question that got no answer may simply be asked again.
 *
 * A failure that is classified already is answered as it is.
 */
export function fromNetwork(error: unknown, { writes }: Sent): ToolFailure {
  if (isToolFailure(error)) return error;
  const code = networkCode(error)?.toLowerCase();
  if (wasNeverSent(error)) {
    return retryable(code ?? 'unreachable', 'the provider could not be reached', { cause: error });
  }
  const lost = (name: string, message: string): ToolFailure =>
    writes ? ambiguous(name, message, error) : retryable(name, message, { cause: error });
  if (wasGivenUp(error)) return lost('timeout', 'no answer in time');
  return lost(code ?? 'connection_lost', 'the connection was lost');
}
