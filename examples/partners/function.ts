import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Env } from 'hono';
import { SETTLE_MS } from '../limits.ts';
import { createPartnersApp, type FallSilent } from './app.ts';
import { problem } from './problem.ts';
import { openDynamoStore } from './stores/dynamodb.ts';

/** What a gateway hands over for one request: the part of HTTP APIs' format 2.0 that is read here. */
export interface GatewayEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly isBase64Encoded: boolean;
  readonly requestContext: {
    readonly http: { readonly method: string };
    /** Epoch milliseconds of its arrival at the gateway. */
    readonly timeEpoch: number;
  };
}

export interface GatewayAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PartnersFunction {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** Default: what this machine's clock says. */
  readonly now?: () => number;
  /** Ends the process with this code. Default: it does. */
  readonly exit?: (code: number) => never;
}

/** Below what a gateway waits, so that a slow answer is still an answer. */
const LONGEST_CALL_MS = 20_000;

/**
 * Our callers' contracts promise that nothing lands later than `SETTLE_MS` after their deadline. A function
 * that was still starting may get to a request long after that, so it turns such a one away.
 */
const STALE_MS = SETTLE_MS - 300;

const CRASHED = 86;

/**
 * A gateway always answers, if only in its own words. It says 502 of a function that it heard nothing
 * from, which tells a caller no more than a lost connection does.
 */
const answerAsGateway: FallSilent<Env> = async (_c, how) => {
  if (how.kind === 'hang') await how.done;
  return problem(502, 'no_answer', 'The partner gave no answer.');
};

/** All partner systems as one function behind an HTTP API, with their records in a table. */
export function partnersHandler(options: PartnersFunction) {
  const { now = Date.now, exit = (code) => process.exit(code) } = options;
  const app = createPartnersApp(
    {
      store: openDynamoStore({ client: options.client, table: options.table, now }),
      now,
      sleep: (ms) => sleep(ms),
      die: () => exit(CRASHED),
      longestCallMs: LONGEST_CALL_MS,
    },
    answerAsGateway,
  );
  return async (event: GatewayEvent): Promise<GatewayAnswer> => {
    const response = isStale(event, now()) ? turnedAway() : await app.fetch(requestOf(event));
    return {
      statusCode: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    };
  };
}

function isStale({ rawPath, requestContext: { http, timeEpoch } }: GatewayEvent, now: number) {
  return http.method === 'POST' && rawPath !== '/faults' && now - timeEpoch > STALE_MS;
}

function turnedAway(): Response {
  return problem(503, 'starting', 'Nothing was done: the partner is starting. Ask again.');
}

function requestOf(event: GatewayEvent): Request {
  const { rawPath, rawQueryString, headers, body, isBase64Encoded } = event;
  return new Request(
    `https://partners${rawPath}${rawQueryString === '' ? '' : '?'}${rawQueryString}`,
    {
      method: event.requestContext.http.method,
      headers,
      ...(body === undefined ? {} : { body: isBase64Encoded ? Buffer.from(body, 'base64') : body }),
    },
  );
}
