import { fromNetwork, type Sent } from './classify-network.ts';
import {
  ambiguous,
  hold,
  isToolFailure,
  refused,
  retryable,
  type ToolFailure,
} from './failures.ts';
import { wasGivenUp } from './network-codes.ts';

/** What the SDK for JavaScript throws, as far as its class depends on it. */
interface SdkError {
  readonly name: string;
  readonly message: string;
  readonly $fault?: 'client' | 'server';
  readonly $retryable?: { readonly throttling?: boolean };
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number };
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
}

/** Turned away at the door. */
const THROTTLED = [
  'BandwidthLimitExceeded',
  'EC2ThrottledException',
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'SlowDown',
  'ThrottledException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
];

/** Lost against another writer, with nothing done. */
const CONTENDED = ['TransactionConflictException', 'ConcurrentModificationException'];

/** The first request of that token is still at work. */
const IN_PROGRESS = ['TransactionInProgressException', 'PriorRequestNotComplete'];

/** Our credentials, rights or clock: the same for every saga. */
const OURS = [
  'AccessDenied',
  'AccessDeniedException',
  'AuthFailure',
  'CredentialsProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidClientTokenId',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'NotAuthorized',
  'RequestExpired',
  'RequestTimeTooSkewed',
  'SignatureDoesNotMatch',
  'UnauthorizedException',
  'UnauthorizedOperation',
  'UnrecognizedClientException',
];

/** The same request is refused in the same way however often it is sent. */
const MALFORMED = [
  'InvalidParameterException',
  'InvalidParameterValueException',
  'ParamValidationError',
  'SerializationException',
  'ValidationError',
  'ValidationException',
];

/** A request that timed out at the service's door has the fault of a client, and proves nothing. */
const UNCLEAR = ['RequestTimeout', 'RequestTimeoutException', 'RequestAbortedException'];

/**
 * Classifies what a client of the AWS SDK threw; anything else as `fromNetwork` does.
 *
 * The SDK sends a request again by itself, and only its last answer is seen. After more than one try that
 * answer speaks for the last one alone: a condition that failed may have failed on the first try's own
 * write. So a write is then `ambiguous`, unless the answer is the same for every try. Give the client of a
 * tool `maxAttempts: 1`: its tries are counted and spaced in the ledger.
 */
export function fromAws(error: unknown, sent: Sent): ToolFailure {
  if (isToolFailure(error) || !isSdkError(error)) return fromNetwork(error, sent);
  const { name } = error;
  const code = name;
  const message = `AWS answered ${name}`;
  if (OURS.includes(name)) return hold(code, message, error);
  if (MALFORMED.includes(name)) return refused(code, message, error);
  const lost = (): ToolFailure =>
    sent.writes ? ambiguous(code, message, error) : retryable(code, message, { cause: error });
  const tries = error.$metadata?.attempts ?? 1;
  if (tries > 1 && sent.writes) return lost();
  if (isThrottled(error)) return retryable(code, message, { cause: error });
  if (wasGivenUp(error) || UNCLEAR.includes(name) || IN_PROGRESS.includes(name)) return lost();
  if (name === 'TransactionCanceledException') return cancelled(error, lost);
  const status = error.$metadata?.httpStatusCode ?? 0;
  const clients = error.$fault === 'client' || (status >= 400 && status < 500);
  return clients ? refused(code, message, error) : lost();
}

function isThrottled(error: SdkError): boolean {
  return (
    THROTTLED.includes(error.name) ||
    CONTENDED.includes(error.name) ||
    error.$retryable?.throttling === true ||
    error.$metadata?.httpStatusCode === 429
  );
}

/** A transaction is cancelled as a whole: only where every reason is contention may it be tried again. */
function cancelled(error: SdkError, lost: () => ToolFailure): ToolFailure {
  const codes = (error.CancellationReasons ?? []).flatMap(({ Code }) =>
    Code === undefined || Code === 'None' ? [] : [Code],
  );
  const passing = ['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'];
  if (codes.length === 0) return lost();
  const message = `AWS cancelled the transaction: ${codes.join(', ')}`;
  return codes.every((code) => passing.includes(code))
    ? retryable(error.name, message, { cause: error })
    : refused(error.name, message, error);
}

function isSdkError(error: unknown): error is SdkError {
  if (!(error instanceof Error)) return false;
  return '$fault' in error || '$metadata' in error || OURS.includes(error.name);
}
