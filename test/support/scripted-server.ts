import { createServer, type ServerResponse } from 'node:http';
import { closeServer, listenLocally } from './dynalite.ts';

/** Says what becomes of one request; the answers are used in order, the last one for all others. */
export type ScriptedAnswer = (response: ServerResponse) => void;

export interface ScriptedServer {
  readonly endpoint: string;
  requests(): number;
  close(): Promise<void>;
}

/** A server that answers by script, for the answers a real one gives only on a bad day. */
export async function startScripted(...script: ScriptedAnswer[]): Promise<ScriptedServer> {
  let served = 0;
  const server = createServer((request, response) => {
    const answer = script[Math.min(served, script.length - 1)];
    served += 1;
    request.resume();
    request.on('end', () => answer?.(response));
  });
  return {
    endpoint: await listenLocally(server),
    requests: () => served,
    close: () => closeServer(server),
  };
}

export function json(status: number, body: unknown, headers = {}): ScriptedAnswer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

export function failure(status: number, type: string): ScriptedAnswer {
  return json(status, { __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'so it is' });
}

/** The line is cut; whether the request took effect nobody knows. */
export const cut: ScriptedAnswer = (response) => response.destroy();

/** No answer, ever. */
export const silence: ScriptedAnswer = () => undefined;
