import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { fromAws } from '../../../lambdas/tool/classify-aws.ts';
import { fromNetwork } from '../../../lambdas/tool/classify-network.ts';
import { classify, denied, refused } from '../../../lambdas/tool/failures.ts';
import { cut, failure, json, startScripted } from '../../support/scripted-server.ts';

const WRITE = { writes: true };
const READ = { writes: false };

function raised(name: string, more: object = {}): Error {
  return Object.assign(new Error(name), { name, ...more });
}

/** As `fetch` throws it. */
function fetchFailed(cause: unknown): TypeError {
  return new TypeError('fetch failed', { cause });
}

describe('an error of the network', () => {
  it.each([
    ['ECONNREFUSED'],
    ['ENOTFOUND'],
    ['EAI_AGAIN'],
    ['EHOSTUNREACH'],
    ['ENETUNREACH'],
    ['UND_ERR_CONNECT_TIMEOUT'],
    ['CERT_HAS_EXPIRED'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['ERR_TLS_CERT_ALTNAME_INVALID'],
    ['ERR_SSL_WRONG_VERSION_NUMBER'],
  ])('%s came before a byte was sent', (code) => {
    for (const error of [raised('Error', { code }), fetchFailed(raised('Error', { code }))]) {
      expect(fromNetwork(error, WRITE)).toMatchObject({
        failure: 'retryable',
        code: code.toLowerCase(),
      });
    }
  });

  it.each([
    ['ECONNRESET'],
    ['EPIPE'],
    ['ETIMEDOUT'],
    ['UND_ERR_SOCKET'],
    ['UND_ERR_HEADERS_TIMEOUT'],
    ['UND_ERR_BODY_TIMEOUT'],
    ['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC'],
  ])('%s may have come after it', (code) => {
    const error = fetchFailed(raised('Error', { code }));
    expect(fromNetwork(error, WRITE)).toMatchObject({ failure: 'ambiguous', cause: error });
    expect(fromNetwork(error, READ)).toMatchObject({ failure: 'retryable' });
  });

  it('is told by the system call that failed, where the code can mean both', () => {
    const connecting = raised('Error', { code: 'ETIMEDOUT', syscall: 'connect' });
    expect(fromNetwork(fetchFailed(connecting), WRITE)).toMatchObject({ failure: 'retryable' });
    const reading = raised('Error', { code: 'ETIMEDOUT', syscall: 'read' });
    expect(fromNetwork(fetchFailed(reading), WRITE)).toMatchObject({ failure: 'ambiguous' });
  });

  it('of several addresses came before only if all of them did', () => {
    const connecting = raised('Error', { code: 'ETIMEDOUT', syscall: 'connect' });
    const reset = raised('Error', { code: 'ECONNRESET', syscall: 'read' });
    const all = new AggregateError([connecting, connecting], 'all failed');
    const some = new AggregateError([connecting, reset], 'all failed');
    expect(fromNetwork(fetchFailed(all), WRITE)).toMatchObject({ failure: 'retryable' });
    expect(fromNetwork(fetchFailed(some), WRITE)).toMatchObject({ failure: 'ambiguous' });
  });

  it.each(['AbortError', 'TimeoutError'])('%s: we gave up, the provider may not have', (name) => {
    const error = new DOMException('over', name);
    expect(fromNetwork(error, WRITE)).toMatchObject({ failure: 'ambiguous', code: 'timeout' });
    expect(fromNetwork(error, READ)).toMatchObject({ failure: 'retryable', code: 'timeout' });
  });

  it.each([[undefined], [null], ['text'], [7], [{}], [new Error('?')]])(
    'of which nothing is known (%o) proves nothing',
    (error) => {
      expect(fromNetwork(error, WRITE)).toMatchObject({ failure: 'ambiguous' });
    },
  );

  it('that names itself as its own cause is read to an end', () => {
    const error = raised('Error') as Error & { cause: unknown };
    error.cause = error;
    expect(fromNetwork(error, WRITE)).toMatchObject({ failure: 'ambiguous' });
  });

  it('that is classified already stays so', () => {
    const known = refused('no', 'no');
    expect(fromNetwork(known, WRITE)).toBe(known);
    expect(fromAws(known, WRITE)).toBe(known);
  });
});

describe('an error of the AWS SDK', () => {
  const client = { $fault: 'client' as const, $metadata: { httpStatusCode: 400, attempts: 1 } };
  const server = { $fault: 'server' as const, $metadata: { httpStatusCode: 500, attempts: 1 } };

  it.each([
    ['ThrottlingException', client, 'retryable'],
    ['ProvisionedThroughputExceededException', client, 'retryable'],
    ['TooManyRequestsException', client, 'retryable'],
    ['SlowDown', { ...server, $metadata: { httpStatusCode: 503 } }, 'retryable'],
    ['SomethingNew', { ...client, $retryable: { throttling: true } }, 'retryable'],
    ['SomethingNew', { ...client, $metadata: { httpStatusCode: 429 } }, 'retryable'],
    ['TransactionConflictException', client, 'retryable'],
    ['ConditionalCheckFailedException', client, 'terminal_compensate'],
    ['ResourceNotFoundException', client, 'terminal_compensate'],
    ['ConflictException', client, 'terminal_compensate'],
    ['ValidationException', client, 'terminal_compensate'],
    ['AccessDeniedException', client, 'terminal_hold'],
    ['UnrecognizedClientException', client, 'terminal_hold'],
    ['ExpiredTokenException', client, 'terminal_hold'],
    ['CredentialsProviderError', {}, 'terminal_hold'],
    ['InternalServerError', server, 'ambiguous'],
    ['InternalServerError', { ...server, $retryable: {} }, 'ambiguous'],
    ['ServiceUnavailable', { ...server, $metadata: { httpStatusCode: 503 } }, 'ambiguous'],
    ['TransactionInProgressException', client, 'ambiguous'],
    ['RequestTimeout', client, 'ambiguous'],
    ['TimeoutError', { $metadata: { attempts: 1 } }, 'ambiguous'],
    ['SomethingNew', { $metadata: {} }, 'ambiguous'],
  ])('%s %o is %s', (name, more, expected) => {
    expect(fromAws(raised(name, more), WRITE)).toMatchObject({ failure: expected, code: name });
  });

  it('a question that failed for no reason of its own is asked again', () => {
    expect(fromAws(raised('InternalServerError', server), READ)).toMatchObject({
      failure: 'retryable',
    });
  });

  it('after more than one try speaks for the last one only', () => {
    const second = { ...client, $metadata: { httpStatusCode: 400, attempts: 2 } };
    for (const name of [
      'ConditionalCheckFailedException',
      'ConflictException',
      'ThrottlingException',
    ]) {
      expect(fromAws(raised(name, second), WRITE)).toMatchObject({ failure: 'ambiguous' });
    }
    // The same for every try, and for a question.
    expect(fromAws(raised('ValidationException', second), WRITE)).toMatchObject({
      failure: 'terminal_compensate',
    });
    expect(fromAws(raised('ConditionalCheckFailedException', second), READ)).toMatchObject({
      failure: 'terminal_compensate',
    });
  });

  it.each([
    [['None', 'ConditionalCheckFailed'], 'terminal_compensate'],
    [['TransactionConflict', 'None'], 'retryable'],
    [['ThrottlingError', 'ConditionalCheckFailed'], 'terminal_compensate'],
    [[], 'ambiguous'],
  ] as const)('a transaction cancelled for %o is %s', (codes, expected) => {
    const CancellationReasons = codes.map((Code) => ({ Code }));
    const error = raised('TransactionCanceledException', { ...client, CancellationReasons });
    expect(fromAws(error, WRITE)).toMatchObject({ failure: expected });
  });

  it('that is none is one of the network', () => {
    const error = raised('Error', { code: 'ECONNREFUSED' });
    expect(fromAws(error, WRITE)).toMatchObject({ failure: 'retryable', code: 'econnrefused' });
  });

  it.each([
    [
      'a failed condition',
      failure(400, 'ConditionalCheckFailedException'),
      1,
      'terminal_compensate',
    ],
    ['throttling', failure(400, 'ProvisionedThroughputExceededException'), 1, 'retryable'],
    [
      'throttling, three tries',
      failure(400, 'ProvisionedThroughputExceededException'),
      3,
      'ambiguous',
    ],
    ['an error of the server', json(500, {}), 1, 'ambiguous'],
    ['a denied call', failure(400, 'AccessDeniedException'), 1, 'terminal_hold'],
    ['a cut line', cut, 1, 'ambiguous'],
  ] as const)('as the real client throws it: %s', async (_what, answer, maxAttempts, expected) => {
    const scripted = await startScripted(answer);
    const dynamo = new DynamoDBClient({
      endpoint: scripted.endpoint,
      region: 'eu-central-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      maxAttempts,
    });
    const put = dynamo.send(new PutItemCommand({ TableName: 't', Item: { id: { S: '1' } } }));
    const error = await put.catch((thrown: unknown) => thrown);
    expect(fromAws(error, WRITE)).toMatchObject({ failure: expected });
    dynamo.destroy();
    await scripted.close();
  });

  it('keeps the real class’s name, however a bundler calls it', () => {
    const error = new ConditionalCheckFailedException({ message: 'no', $metadata: {} });
    expect(fromAws(error, WRITE).code).toBe('ConditionalCheckFailedException');
  });
});

describe('what an implementation throws', () => {
  it('a denial keeps its reason', () => {
    expect(classify(denied('limit', 'over the limit'), 'reversible', 'forward')).toEqual({
      failure: 'terminal_compensate',
      code: 'limit',
      message: 'over the limit',
      reason: 'policy_denied',
    });
  });

  it('unclassified proves nothing where it writes', () => {
    expect(classify(new Error('?'), 'reversible', 'forward').failure).toBe('ambiguous');
    expect(classify(new Error('?'), 'read_only', 'forward').failure).toBe('retryable');
    const handshake = fetchFailed(raised('Error', { code: 'CERT_HAS_EXPIRED' }));
    expect(classify(handshake, 'reversible', 'forward').failure).toBe('retryable');
  });

  it('unclassified is named with its place, and without its text', () => {
    const { code, message } = classify(new Error('card 4111'), 'reversible', 'forward');
    expect(code).toBe('unclassified');
    expect(message).toMatch(/failed with Error \(classify-errors\.test\.ts:\d+:\d+\): classify it/);
    expect(message).not.toContain('4111');
  });
});
