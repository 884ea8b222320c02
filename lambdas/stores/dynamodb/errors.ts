import { StoreUnavailable } from '../../ports/ledger-store.ts';

/** DynamoDB refused for a reason no retry mends; nothing was written. */
export class StoreMisconfigured extends Error {
  override readonly name = 'Counterstep.StoreMisconfigured';
}

/** Refused for load, in the words DynamoDB and the services before it use. */
const THROTTLED: ReadonlySet<string> = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'ThrottledException',
  'Throttling',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'TooManyRequestsException',
  'SlowDown',
]);

const REMEDIES: Readonly<Record<string, string>> = {
  ResourceNotFoundException: 'check the table name and region, or deploy the tables',
  AccessDeniedException: "check the role's grants on the table",
  UnrecognizedClientException: 'check the credentials',
  ExpiredTokenException: 'renew the credentials',
  ValidationException: 'the table has other keys than this version expects, or a limit was passed',
};

/** What the SDK notes on every error it lets through. */
interface SdkError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number };
  readonly code?: unknown;
}

/**
 * Awaits one call of the client and sorts its failure:
 * - refused for load → `StoreUnavailable`, throttled;
 * - a 5xx, no answer, a garbled answer → `StoreUnavailable`: the write may stand;
 * - a 4xx at the first attempt → {@link StoreMisconfigured}. After an attempt whose answer was
 *   lost, a 4xx speaks for the later attempt alone, so the outcome is unknown there too;
 * - an error of ours (nothing was sent) → as it is.
 *
 * Errors that are an answer (`DuplicateItemException` and the like) are caught before, in `send`.
 */
export async function answered<T>(doing: string, send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    throw sorted(doing, error);
  }
}

function sorted(doing: string, thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const error: SdkError = thrown;
  if (THROTTLED.has(error.name)) {
    return new StoreUnavailable(`${doing}: DynamoDB asks for less load; back off, then try again`, {
      cause: error,
      throttled: true,
    });
  }
  const { httpStatusCode, attempts = 1 } = error.$metadata ?? {};
  if (httpStatusCode !== undefined && httpStatusCode >= 400 && httpStatusCode < 500) {
    if (attempts === 1) {
      const remedy = REMEDIES[error.name] ?? 'see the cause';
      return new StoreMisconfigured(`${doing}: ${error.name}: ${error.message} (${remedy})`, {
        cause: error,
      });
    }
  } else if (error.$metadata === undefined && typeof error.code !== 'string') {
    return error;
  }
  return new StoreUnavailable(
    `${doing}: no clear answer from DynamoDB (${error.name}: ${error.message}); read again before deciding`,
    { cause: error },
  );
}
