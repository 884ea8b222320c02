import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Action } from 'counterstep';
import type { Call } from 'counterstep/lambda';
import type { FaultRequest } from '../../examples/partners/faults.ts';
import type { SystemName, SystemRecords } from '../../examples/partners/records.ts';
import { type Partners, startPartners } from '../../examples/partners/start.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** Short ways to talk to a partner service. */
export interface PartnerCalls {
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  fault(request: FaultRequest): Promise<Answer>;
  records(system: SystemName, orderId?: string): Promise<SystemRecords>;
}

/** A partner process in a folder of its own. */
export interface Bench extends PartnerCalls {
  readonly partners: Partners;
  readonly dataDir: string;
  /** Resolves when no call is open any more, late commits included. */
  quiet(): Promise<void>;
  stop(): Promise<void>;
}

export function folder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'counterstep-examples-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Calls to the partner service at that address, or by that way of sending. */
export function callsTo(
  url: string,
  send: (url: string, init?: RequestInit) => Promise<Response> = fetch,
): PartnerCalls {
  const answered = async (response: Response): Promise<Answer> => {
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  };
  const calls: PartnerCalls = {
    post: async (at, body, headers = {}) =>
      answered(
        await send(url + at, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      ),
    get: async (at) => answered(await send(url + at)),
    fault: async (request) => {
      const answer = await calls.post('/faults', request);
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      return answer;
    },
    records: async (system, orderId) => {
      const query = orderId === undefined ? '' : `?orderId=${orderId}`;
      return (await calls.get(`/${system}/records${query}`)).body as unknown as SystemRecords;
    },
  };
  return calls;
}

export async function startBench(): Promise<Bench> {
  const { path, remove } = folder();
  const partners = await startPartners({ dataDir: path });
  const calls = callsTo(partners.url);
  return {
    ...calls,
    partners,
    dataDir: path,
    quiet: async () => {
      while ((await calls.get('/health')).body.openCalls !== 0) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    stop: async () => {
      await partners.stop();
      remove();
    },
  };
}

let calls = 0;

/** What the runtime would hand an implementation. */
export function fakeCall(over: Partial<Call> & { readonly timeoutMs?: number } = {}): Call {
  calls += 1;
  const { timeoutMs = 5_000, ...given } = over;
  const action: Action = given.action ?? 'forward';
  return {
    idempotencyKey: `key-${calls}`,
    correlationId: `correlation-${calls}`,
    signal: AbortSignal.timeout(timeoutMs),
    deadlineAt: Date.now() + timeoutMs,
    tenant: 'shop',
    sagaId: 'saga-1',
    step: 'step',
    action,
    attempt: 1,
    round: 1,
    ...given,
  };
}

/** The error a promise is rejected with; fails where it is not. */
export async function failureOf(promise: unknown): Promise<Record<string, unknown>> {
  try {
    await promise;
  } catch (error) {
    return error as Record<string, unknown>;
  }
  throw new Error('it did not fail');
}
