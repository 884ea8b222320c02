import { ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../lambdas/ports/clock.ts';
import { storeClock } from '../../lambdas/stores/dynamodb/store-clock.ts';
import { localClient } from '../support/dynalite.ts';
import { json, type ScriptedAnswer, startScripted } from '../support/scripted-server.ts';

/** The store's own time at every answer; whole seconds, as its header says them. */
const STORE_MS = Date.parse('2030-05-01T12:00:00Z');
const atStoreTime = json(200, { TableNames: [] }, { date: new Date(STORE_MS).toUTCString() });

const ending: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

/** A local clock that tells these times in turn, then stays at the last. */
function telling(...times: number[]): Clock {
  return { ...systemClock, now: () => (times.length > 1 ? times.shift() : times[0]) ?? 0 };
}

async function asked(local: Clock, answer: ScriptedAnswer = atStoreTime, maxAttempts = 1) {
  const server = await startScripted(answer);
  const client = localClient(server.endpoint, maxAttempts);
  ending.push(
    () => client.destroy(),
    () => server.close(),
  );
  const clock = storeClock(client, local);
  const ask = (): Promise<unknown> =>
    client.send(new ListTablesCommand({})).catch((error: unknown) => error);
  return { clock, ask };
}

test('before the first answer it is the local time', async () => {
  const { clock } = await asked(telling(STORE_MS - 45_000));
  expect(clock.now()).toBe(STORE_MS - 45_000);
});

test.each([
  ['45 s fast', 45_000],
  ['45 s slow', -45_000],
  ['a day fast', 86_400_000],
  ['3.1 s slow', -3_100],
])('a local clock %s agrees with the store to half a second', async (_, offMs) => {
  const { clock, ask } = await asked(telling(STORE_MS + offMs, STORE_MS + offMs + 20));
  await ask();
  // The answer was given somewhere within the header's second.
  expect(Math.abs(clock.now() - (STORE_MS + 500))).toBeLessThanOrEqual(520);
});

test.each([0, 900, 1_900, -1_500])('a clock off by %i ms is left alone', async (offMs) => {
  const { clock, ask } = await asked(telling(STORE_MS + offMs));
  await ask();
  expect(clock.now()).toBe(STORE_MS + offMs);
});

test('a local clock that jumps is corrected by the next answer', async () => {
  let localMs = STORE_MS;
  const { clock, ask } = await asked({ ...systemClock, now: () => localMs });
  await ask();
  localMs -= 60_000;
  await ask();
  expect(Math.abs(clock.now() - STORE_MS)).toBeLessThanOrEqual(1_000);
  localMs += 60_000;
  await ask();
  expect(clock.now()).toBe(STORE_MS);
});

test('an answer during which the local clock jumped, or that took long, teaches nothing', async () => {
  const back = await asked(telling(STORE_MS, STORE_MS - 60_000));
  await back.ask();
  expect(back.clock.now()).toBe(STORE_MS - 60_000);
  const slow = await asked(telling(STORE_MS - 90_000, STORE_MS - 60_000));
  await slow.ask();
  expect(slow.clock.now()).toBe(STORE_MS - 60_000);
});

test('answers that are errors tell the time as well', async () => {
  const refused = json(
    400,
    { __type: 'ResourceNotFoundException', message: 'none' },
    { date: new Date(STORE_MS).toUTCString() },
  );
  const { clock, ask } = await asked(telling(STORE_MS - 45_000), refused);
  await ask();
  expect(Math.abs(clock.now() - STORE_MS)).toBeLessThanOrEqual(1_000);
});

test('two workers with wrong clocks agree', async () => {
  const fast = await asked(telling(STORE_MS + 45_000));
  const slow = await asked(telling(STORE_MS - 45_000));
  await Promise.all([fast.ask(), slow.ask()]);
  expect(Math.abs(fast.clock.now() - slow.clock.now())).toBeLessThanOrEqual(1_000);
});

test('a client may serve several clocks', async () => {
  const server = await startScripted(atStoreTime);
  const client = localClient(server.endpoint);
  ending.push(
    () => client.destroy(),
    () => server.close(),
  );
  const clocks = [storeClock(client, telling(0)), storeClock(client, telling(0))];
  await client.send(new ListTablesCommand({}));
  for (const clock of clocks) expect(clock.now()).toBe(STORE_MS + 500);
});
