import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../examples/demo/checks.ts';
import { orderOfId, refundOfOrder } from '../../examples/demo/inputs.ts';
import type { World } from '../../examples/demo/world.ts';
import { SAGA_STATES } from '../../statemachines/rules/events.ts';
import { type Operation, requestOf, requestsOf, subjectOf } from './every-call.ts';
import { twoTenants } from './target.ts';
import { type Start, Tenant } from './tenant.ts';
import { orderId, type Place } from './worlds.ts';

/** Two tenants who start the same at the same time, and then try to see and move what is the other's. */
export function tenantTests(at: () => Place): void {
  // An account's token is of one tenant; COUNTERSTEP_OTHER_TOKEN brings another.
  describe.skipIf(!twoTenants)('two tenants', () => {
    test('sagas that both start in parallel are seen and moved by their own tenant alone', async () => {
      const { world, caller, strangers } = at();
      if (strangers === undefined) throw new Error('nobody of a second tenant is here');
      const { url } = world.plane();
      const ada = new Tenant(url, strangers[0], caller);
      const other = new Tenant(url, strangers[1], caller);
      const starts = await sameStarts(world);
      for (const each of starts) {
        // Both at the same moment; a pair at a time, since partners' time is short where functions start cold.
        await Promise.all([ada, other].map((tenant) => startOne(tenant, each)));
      }
      expect(new Set([...ada.sagas, ...other.sagas]).size).toBe(2 * starts.length);
      await Promise.all([ada, other].map((tenant) => listed(at(), tenant)));

      const operations = await ada.operations();
      await Promise.all([
        nothingSeen(operations, { by: ada, of: other, starts }),
        nothingSeen(operations, { by: other, of: ada, starts }),
      ]);
      for (const tenant of [ada, other]) await understood(operations, tenant);
      await Promise.all([
        listsOwn(at(), { by: ada, of: other }),
        listsOwn(at(), { by: other, of: ada }),
      ]);
    });
  });
}

/** Six starts, for two tenants alike: of each kind of end, one that waits, two that need a person. */
async function sameStarts(world: World): Promise<readonly Start[]> {
  const [refused, lost, again, slow] = ['refused', 'lost', 'lost-again', 'slow'].map((name) =>
    orderId(`tenants-${name}`),
  ) as [string, string, string, string];
  const times = 2;
  await world.fault({
    ...{ system: 'erp', operation: 'create', match: { orderId: refused } },
    ...{ fault: 'refuse', times },
  });
  await world.fault({
    ...{ system: 'payments', operation: 'charge', match: { orderId: slow } },
    ...{ fault: 'pending', delayMs: 3_600_000, times },
  });
  for (const order of [lost, again]) {
    const { email: to } = refundOfOrder(order);
    world.mail.fault({ fault: 'drop_after_data', match: { to }, times });
  }
  return [
    refundTo('completed', orderId('tenants-plain')),
    refundTo('compensated', refused),
    refundTo('needs_review', lost),
    refundTo('needs_review', again),
    orderTo('completed', orderId('tenants-order')),
    orderTo('waiting', slow),
  ];
}

function refundTo(comesTo: string, order: string): Start {
  return { saga: 'refund', key: order, input: refundOfOrder(order), comesTo };
}

function orderTo(comesTo: string, order: string): Start {
  return { saga: 'order', key: order, input: orderOfId(order), comesTo };
}

/** Until the saga is where it stays for now. */
async function startOne(tenant: Tenant, each: Start): Promise<void> {
  const id = await tenant.start(each);
  tenant.sagas = [...tenant.sagas, id];
  await tenant.plane.until(id, ({ state }) => state === each.comesTo);
}

/** Until the lists, which follow the ledgers, show all sagas. */
async function listed({ world, caller }: Place, tenant: Tenant): Promise<void> {
  const shown = async (path: string, ids: readonly string[]): Promise<void> =>
    eventually(`all entries of ${path}`, { pace: 5 * world.pace }, async () => {
      await sleep(caller.pollMs ?? 0);
      const { text } = await tenant.send({ method: 'GET', path, headers: {} });
      return ids.every((id) => text.includes(id));
    });
  await shown('/v1/sagas?limit=200', tenant.sagas);
  await shown('/v1/reviews?limit=200', await tenant.reviews());
}

interface Strangers {
  readonly by: Tenant;
  readonly of: Tenant;
}

/** Every call there is, by one tenant, about everything that is the other's. */
async function nothingSeen(
  operations: readonly Operation[],
  { by, of, starts }: Strangers & { readonly starts: readonly Start[] },
): Promise<void> {
  const marks = await of.marks();
  const before = await ledgersOf(of);
  const values = { ...QUERY_VALUES, cursor: await of.cursors() };
  for (const operation of operations) {
    switch (subjectOf(operation)) {
      case 'saga':
        await unknown(by, operation, of.sagas, NOBODYS_SAGA, values);
        await own(by, operation, by.sagas.slice(0, 1), marks, values);
        break;
      case 'review':
        await unknown(by, operation, await of.reviews(), `${NOBODYS_SAGA}.9`, values);
        break;
      case 'definition':
        // By the same key again: their own sagas, though the other has one by each key too.
        expect(await Promise.all(starts.map((each) => by.start(each)))).toEqual(by.sagas);
        break;
      case 'list':
      case 'shared':
        await own(by, operation, ['refund'], marks, values);
        break;
    }
  }
  expect(await ledgersOf(of)).toEqual(before);
}

const NOBODYS_SAGA = 'f'.repeat(32);

/** Of every query parameter of the API but cursors, which are the other tenant's. */
const QUERY_VALUES = {
  state: [...SAGA_STATES, SAGA_STATES.join(',')],
  name: ['refund', 'order'],
  olderThan: ['1ms', '2020-01-01T00:00:00Z'],
  limit: ['1', '100'],
  format: ['ndjson'],
} as const;

type Values = Readonly<Record<string, readonly string[]>>;

/** What is the other's is answered as what never was, word for word. */
async function unknown(
  by: Tenant,
  operation: Operation,
  theirs: readonly string[],
  nobodys: string,
  values: Values,
): Promise<void> {
  expect(theirs.length, `the other tenant has nothing for ${operation.id}`).toBeGreaterThan(0);
  for (const [place, subject] of theirs.entries()) {
    // With a query for the first: what it does depends on no subject.
    const some = place === 0 ? undefined : 1;
    const asked = requestsOf(operation, subject, values).slice(0, some);
    const never = requestsOf(operation, nobodys, values).slice(0, some);
    for (const [index, request] of asked.entries()) {
      const about = await by.send(request);
      const reference = await by.send(never[index] ?? request);
      // What a cursor gets, which may be refused or point past any end, depends on no saga either.
      if (!request.path.includes('cursor=')) expect(about.status, request.what).toBe(404);
      expect(about.status, request.what).toBe(reference.status);
      expect(about.text.replaceAll(subject, nobodys), request.what).toBe(reference.text);
    }
  }
}

/**
 * Calls about what is their own, or nobody's, with values and cursors of the other: refused, or answered
 * with nothing of the other's. Only reads: what these tenants may move, they move last.
 */
async function own(
  by: Tenant,
  operation: Operation,
  subjects: readonly string[],
  marks: readonly string[],
  values: Values,
): Promise<void> {
  if (operation.method !== 'GET') return;
  for (const request of subjects.flatMap((each) => requestsOf(operation, each, values))) {
    const { status, text } = await by.send(request);
    expect([200, 400], `${request.what}: ${text}`).toContain(status);
    const seen = marks.filter((mark) => text.includes(mark));
    expect(seen, request.what).toEqual([]);
  }
}

/** Of a saga that waits, a drive may add to it; what a stranger did would be there under another name. */
async function ledgersOf(tenant: Tenant): Promise<unknown> {
  const ledgers = await Promise.all(
    tenant.sagas.map(async (id) => [id, await tenant.records(id)] as const),
  );
  const byPeople = ledgers.map(([id, records]) => [
    id,
    records.filter(({ event }) => !['drive', 'sweep'].includes(event.actor)),
  ]);
  return Object.fromEntries(byPeople);
}

/** The very requests that strangers were refused are understood when their own tenant sends them. */
async function understood(operations: readonly Operation[], tenant: Tenant): Promise<void> {
  const reviews = await tenant.reviews();
  const requests = operations.flatMap((operation) => {
    const subject = subjectOf(operation);
    const subjects = subject === 'saga' ? tenant.sagas : subject === 'review' ? reviews : [];
    return subjects.map((each) => requestOf(operation, each));
  });
  expect(requests.length).toBeGreaterThan(0);
  for (const request of requests) {
    const { status, text } = await tenant.send(request);
    // It may not fit the state that the saga is in; but it is this tenant's, and taken as such.
    expect([200, 202, 409, 422], `${request.what}: ${text}`).toContain(status);
  }
}

/** All of their own, nothing of the other's, page by page. */
async function listsOwn({ world, caller }: Place, { by, of }: Strangers): Promise<void> {
  await eventually('the whole list', world, async () => {
    await sleep(caller.pollMs ?? 0);
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await by.get<{
        readonly sagas: readonly { readonly id: string }[];
        readonly cursor?: string;
      }>(`/v1/sagas?limit=2${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
      seen.push(...page.sagas.map(({ id }) => id));
      cursor = page.cursor ?? '';
    } while (cursor !== '');
    expect(seen.filter((id) => of.sagas.includes(id))).toEqual([]);
    return by.sagas.every((id) => seen.includes(id));
  });
}
