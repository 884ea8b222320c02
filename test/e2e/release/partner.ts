import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** What the partner makes of a call. `pending`: it takes it, and says later that it is settled. */
export type Reply = 'done' | 'refused' | 'pending';

export interface Partner {
  readonly url: string;
  /** Calls about that trip in order, each with the release whose code made it: `book-seat by 1`. */
  calls(trip: string): readonly string[];
  /** How the next call of that operation for that trip is answered: at once, or when the test says so. */
  next(trip: string, operation: string, reply: Reply | Promise<Reply>): void;
  /** What was pending for that trip is settled. */
  settle(trip: string): void;
  close(): Promise<void>;
}

interface Asked {
  /** Absent where a call names what an earlier one made. */
  readonly trip?: string;
  readonly ref?: string;
  readonly release: number;
}

interface Made {
  readonly trip: string;
  readonly correlationId: string;
  status: 'settled' | 'pending';
}

/** The outside of the two releases: it sells what a trip needs, and answers as it is told to. */
export async function startPartner(): Promise<Partner> {
  const made = new Map<string, Made>();
  const calls = new Map<string, string[]>();
  const replies = new Map<string, (Reply | Promise<Reply>)[]>();

  const take = async (operation: string, request: IncomingMessage): Promise<Answer> => {
    const { ref, release, trip = made.get(ref ?? '')?.trip } = (await json(request)) as Asked;
    if (trip === undefined) return { status: 404, body: { code: 'unknown_ref' } };
    calls.set(trip, [...(calls.get(trip) ?? []), `${operation} by ${release}`]);
    const reply = await (replies.get(`${trip}/${operation}`)?.shift() ?? 'done');
    if (reply === 'refused') return { status: 422, body: { code: 'not_for_this_trip' } };
    const id = `${operation}-${made.size + 1}`;
    const status = reply === 'pending' ? 'pending' : 'settled';
    made.set(id, { trip, correlationId: correlationOf(request), status });
    return { status: reply === 'pending' ? 202 : 201, body: { id, status } };
  };

  const tell = (correlationId: string): Answer => {
    const found = [...made].find(([, each]) => each.correlationId === correlationId);
    if (found === undefined) return { status: 200, body: { status: 'absent' } };
    const [id, { status }] = found;
    return { status: 200, body: { id, status } };
  };

  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://partner');
    const { status, body } =
      request.method === 'GET'
        ? tell(correlationOf(request))
        : await take(pathname.slice(1), request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls: (trip) => calls.get(trip) ?? [],
    next: (trip, operation, reply) => {
      const key = `${trip}/${operation}`;
      replies.set(key, [...(replies.get(key) ?? []), reply]);
    },
    settle: (trip) => {
      for (const each of made.values()) if (each.trip === trip) each.status = 'settled';
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

function correlationOf({ headers }: IncomingMessage): string {
  return String(headers['x-correlation-id']);
}
