import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventBus } from '../../lambdas/aws/event-bus.ts';
import type { PlaneEvent } from '../../lambdas/outbox/plane-events.ts';
import { closeServer, listenLocally } from '../support/dynalite.ts';
import { eventOf, eventPublisherContract } from './event-publisher.contract.ts';
import { MemoryBus } from './world.ts';

interface Entry {
  readonly EventBusName: string;
  readonly Source: string;
  readonly DetailType: PlaneEvent['type'];
  readonly Time: number;
  readonly Detail: string;
}

/** EventBridge as far as `PutEvents` goes, over HTTP. */
function fakeEventBridge() {
  const calls: Entry[][] = [];
  const taken: Entry[] = [];
  const refusals = new Map<string, number>();
  let failures: (() => [number, string])[] = [];
  const server = createServer((request, response) => {
    read(request, (body) => {
      if (request.headers['x-amz-target'] !== 'AWSEvents.PutEvents') {
        return answer(response, 400, { __type: 'UnknownOperationException' });
      }
      const { Entries } = JSON.parse(body) as { Entries: Entry[] };
      calls.push(Entries);
      const failure = failures.shift();
      if (failure !== undefined) {
        const [status, type] = failure();
        return answer(response, status, { __type: type, message: type });
      }
      if (Entries.length < 1 || Entries.length > 10) {
        return answer(response, 400, { __type: 'ValidationException', message: '1 to 10 entries' });
      }
      const results = Entries.map((entry) => {
        const { id } = JSON.parse(entry.Detail) as { id: string };
        const left = refusals.get(id) ?? 0;
        if (left > 0) {
          refusals.set(id, left - 1);
          return { ErrorCode: 'ThrottlingException', ErrorMessage: 'less, please' };
        }
        taken.push(entry);
        return { EventId: `event-${taken.length}` };
      });
      const FailedEntryCount = results.filter((each) => 'ErrorCode' in each).length;
      answer(response, 200, { FailedEntryCount, Entries: results });
    });
  });
  return {
    server,
    calls,
    taken,
    refuse: (ids: readonly string[], times: number) => {
      for (const id of ids) refusals.set(id, times);
    },
    fail: (...given: (() => [number, string])[]) => {
      failures = given;
    },
  };
}

function read(request: IncomingMessage, done: (body: string) => void): void {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => done(body));
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
  response.end(JSON.stringify(body));
}

let fake: ReturnType<typeof fakeEventBridge>;
let client: EventBridgeClient;

async function open() {
  fake = fakeEventBridge();
  client = new EventBridgeClient({
    endpoint: await listenLocally(fake.server),
    region: 'eu-central-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  });
  let now = 0;
  const publisher = eventBus({
    bus: 'sagas',
    client,
    // Pauses take no time, but count.
    clock: {
      now: () => now,
      sleep: async (ms) => {
        now += ms;
      },
      timer: () => () => {},
    },
  });
  return {
    publisher,
    taken: () => fake.taken.map(eventIn),
    refuse: fake.refuse,
    async close() {
      client.destroy();
      await closeServer(fake.server);
    },
  };
}

function eventIn({ DetailType, Time, Detail }: Entry): PlaneEvent {
  return { type: DetailType, at: Time * 1000, detail: JSON.parse(Detail) } as PlaneEvent;
}

eventPublisherContract('EventBridge', open);

eventPublisherContract('in memory', async () => {
  const bus = new MemoryBus();
  return {
    publisher: bus,
    taken: () => bus.taken,
    refuse: (ids) => {
      bus.refuses = ({ detail }) => ids.includes(detail.id);
    },
    close: async () => undefined,
  };
});

let harness: Awaited<ReturnType<typeof open>>;
beforeEach(async () => {
  harness = await open();
});
afterEach(() => harness.close());

test('an entry names bus, source, type and the time of the event in the ledger', async () => {
  const event = eventOf('saga-1');
  await harness.publisher.publish([event]);
  expect(fake.taken).toEqual([
    {
      EventBusName: 'sagas',
      Source: 'counterstep',
      DetailType: 'counterstep.saga.started',
      Time: event.at / 1000,
      Detail: JSON.stringify(event.detail),
    },
  ]);
});

test('of a call that took some, only the others are sent again', async () => {
  fake.refuse(['acme/saga-2/1', 'acme/saga-5/1'], 2);
  const events = Array.from({ length: 10 }, (_, n) => eventOf(`saga-${n}`));
  expect(await harness.publisher.publish(events)).toEqual([]);
  expect(fake.calls.map((call) => call.length)).toEqual([10, 2, 2]);
  expect(fake.taken).toHaveLength(10);
});

test('a call that fails as a whole is made again', async () => {
  fake.fail(
    () => [500, 'InternalException'],
    () => [400, 'ThrottlingException'],
  );
  expect(await harness.publisher.publish([eventOf('saga-1')])).toEqual([]);
  expect(fake.calls).toHaveLength(3);
});

test('what stays refused is given up after a while, by what the bus said', async () => {
  const denied = Array.from({ length: 100 }, () => (): [number, string] => [
    400,
    'AccessDeniedException',
  ]);
  fake.fail(...denied);
  const refused = await harness.publisher.publish([eventOf('saga-1'), eventOf('saga-2')]);
  expect(refused).toEqual([
    { id: 'acme/saga-1/1', code: 'AccessDeniedException' },
    { id: 'acme/saga-2/1', code: 'AccessDeniedException' },
  ]);
  expect(fake.calls.length).toBeGreaterThan(3);
  expect(fake.calls.length).toBeLessThan(20);
});

test('a bus that cannot be reached refuses, and throws nothing', async () => {
  await closeServer(fake.server);
  const [refused] = await harness.publisher.publish([eventOf('saga-1')]);
  expect(refused).toMatchObject({ id: 'acme/saga-1/1' });
});
