import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What an invocation comes to: a payload, an error of the function, or one of the service. */
export type Invoked =
  | { readonly kind: 'answered'; readonly payload: unknown }
  | { readonly kind: 'function_error'; readonly name: string; readonly message: string }
  | { readonly kind: 'service_error'; readonly code: string };

export interface LambdaEndpoint {
  readonly port: number;
  close(): Promise<void>;
}

const INVOKE = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;

/** The one call of Lambda's API that a state machine makes, answered as Lambda answers it. */
export async function lambdaEndpoint(
  invoke: (functionName: string, payload: unknown) => Promise<Invoked>,
): Promise<LambdaEndpoint> {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, name] = INVOKE.exec(request.url ?? '') ?? [];
    if (request.method !== 'POST' || name === undefined) {
      response.writeHead(404).end();
      return;
    }
    const payload: unknown = JSON.parse(await text(request));
    const invoked = await invoke(decodeURIComponent(name), payload);
    if (response.destroyed) return;
    answer(response, invoked);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: Error) => {
      response.writeHead(500).end(JSON.stringify({ message: error.message }));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

function answer(response: ServerResponse, invoked: Invoked): void {
  switch (invoked.kind) {
    case 'answered':
      response.writeHead(200).end(JSON.stringify(invoked.payload));
      return;
    case 'function_error': {
      const body = { errorType: invoked.name, errorMessage: invoked.message, trace: [] };
      response.writeHead(200, { 'x-amz-function-error': 'Unhandled' }).end(JSON.stringify(body));
      return;
    }
    case 'service_error':
      response
        .writeHead(500, { 'x-amzn-errortype': invoked.code, 'x-amzn-requestid': 'request-1' })
        .end(JSON.stringify({ Message: 'for the test' }));
      return;
  }
}
