import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../examples/demo/checks.ts';
import type { PlaneClient } from '../../examples/demo/plane-client.ts';
import type { SagaType } from '../../statemachines/language/effects.ts';
import { functionVersionsOf, machineOf, publishedVersion } from './aws.ts';
import { bearer, deployStack, TENANT, VERSIONED } from './deployed.ts';
import { type Issuer, startIssuer } from './issuer.ts';
import { type Partner, type Reply, startPartner } from './release/partner.ts';
import { TYPES, tripOn } from './release/shared.ts';
import { expectFound } from './scenario.ts';
import { deploys } from './target.ts';
import { orderId, standInOfRun } from './worlds.ts';

/**
 * A second release is deployed over sagas of the first: one step was renamed, one added, one removed with
 * its tool, and the undo of another reads other arguments. Sagas that were in the middle of a call, parked,
 * or with a person, end by the code and the definition that they began with (co-16).
 */
const APP = 'test/e2e/release/app.ts';
const STACK = 'E2eReleases';
const PATIENCE = { pace: 20 };

let issuer: Issuer;
let partner: Partner;
let plane: PlaneClient;
/** What the first release left in the middle, by the type of its machine. */
let begun: ReadonlyMap<SagaType, InFlight>;

// The local plane has no machines and no versions, and what is deployed to an account is not this suite's to
// change. Without versions of machines nothing pins a saga to the functions it began with.
describe.skipIf(!deploys || !VERSIONED)('a second release over sagas of the first', () => {
  beforeAll(async () => {
    issuer = await startIssuer();
    partner = await startPartner();
    plane = await release(1);
    const started = await Promise.all(
      TYPES.map(async (type) => [type, await putInFlight(type)] as const),
    );
    begun = new Map(started);
    plane = await release(2);
    // The deployment went through while the partner still had these calls.
    for (const { running, failing } of begun.values()) {
      for (const { id } of [running, failing]) {
        expect(await plane.get(id)).toMatchObject({ state: 'running', drive: { epoch: 1 } });
      }
    }
  });
  afterAll(async () => {
    await partner?.close();
    await issuer?.close();
  });

  for (const type of TYPES) describe.concurrent(`${type} machines`, () => releaseTests(type));
});

function releaseTests(type: SagaType): void {
  const inFlight = (): InFlight => {
    const found = begun.get(type);
    if (found === undefined) throw new Error(`no saga of ${type} was begun`);
    return found;
  };

  test('a drive in the middle of a call goes on, and ends by a step that is gone since', async () => {
    const { running } = inFlight();
    running.answer('done');
    expect(await plane.untilEnded(running.id)).toMatchObject({ state: 'completed' });
    expect(partner.calls(running.trip)).toEqual([
      'book-seat by 1',
      'take-payment by 1',
      'order-meal by 1',
    ]);
    await endedAsBegun(running);
    // The very drive that the deployment went over.
    expect((await plane.events(running.id)).at(-1)?.epoch).toBe(1);
  });

  test('co-16: one that fails after the deployment is undone by the rules it began with', async () => {
    const { failing } = inFlight();
    failing.answer('refused');
    expect(await plane.untilEnded(failing.id)).toMatchObject({ state: 'compensated' });
    expect(partner.calls(failing.trip)).toEqual([
      'book-seat by 1',
      'take-payment by 1',
      'cancel-seat by 1',
    ]);
    await endedAsBegun(failing);
  });

  test('a saga that waits is found, and goes on with the code it began with', async () => {
    const { parked } = inFlight();
    partner.settle(parked.trip);
    expect(await plane.untilEnded(parked.id)).toMatchObject({ state: 'completed' });
    expect(partner.calls(parked.trip)).toEqual([
      'book-seat by 1',
      'take-payment by 1',
      'order-meal by 1',
    ]);
    await endedAsBegun(parked);
    expectFound(await plane.events(parked.id));
  });

  test('a saga with a person is not handed to code that lacks its steps, and resumes with its own', async () => {
    const { reviewed } = inFlight();
    await expect(resumeOnLatest(reviewed.id)).resolves.toEqual({
      status: 409,
      detail: expect.stringContaining('step "seat" is gone'),
    });
    await plane.resume(reviewed.id);
    await plane.until(reviewed.id, ({ state }) => state === 'compensated');
    expect(partner.calls(reviewed.trip)).toEqual([
      'book-seat by 1',
      'take-payment by 1',
      'cancel-seat by 1',
      'cancel-seat by 1',
    ]);
    await endedAsBegun(reviewed);
  });

  test('new sagas run, and are undone by, the second release', async () => {
    const done = await start(type, 'fresh');
    const undone = await start(type, 'fresh-refused', (trip) =>
      partner.next(trip, 'take-payment', 'refused'),
    );
    expect(await plane.untilEnded(done.id)).toMatchObject({ state: 'completed' });
    expect(await plane.untilEnded(undone.id)).toMatchObject({ state: 'compensated' });
    const booked = ['book-seat by 2', 'insure by 2', 'take-payment by 2'];
    expect(partner.calls(done.trip)).toEqual(booked);
    expect(partner.calls(undone.trip)).toEqual([
      ...booked,
      'cancel-insurance by 2',
      'cancel-seat by 2',
    ]);
    const before = await bornOf(inFlight().running.id);
    const after = await bornOf(done.id);
    expect([before.version, after.version]).toEqual(['1', '2']);
    const [, name, number] = /^(.*):(\d+)$/.exec(before.machine) ?? [];
    expect(after.machine).toBe(`${name}:${Number(number) + 1}`);
  });

  // CDK's own default takes the version of before away with each deployment (its removal policy is
  // "destroy"), and with it the code that open sagas are pinned to. Also of a function that left the app.
  test('every version that the machine of before calls is still there to be invoked', async () => {
    const { endpoint } = standInOfRun();
    const { machine } = await bornOf(inFlight().running.id);
    const versions = await functionVersionsOf(endpoint, machine);
    const names = versions.map((arn) => /Tool([a-z]+)|(Ledger)/.exec(arn)?.[0]);
    expect(names.sort()).toEqual(['Ledger', 'Toolbookseat', 'Toolordermeal', 'Tooltakepayment']);
    for (const arn of versions) {
      expect(await publishedVersion(endpoint, arn)).toMatchObject({
        FunctionArn: arn,
        Version: arn.split(':').at(-1),
        State: 'Active',
      });
    }
  });
}

interface Begun {
  readonly id: string;
  readonly trip: string;
}

/** A call of its is at the partner, which answers when it is told to. */
interface Calling extends Begun {
  readonly answer: (reply: Reply) => void;
}

interface InFlight {
  readonly running: Calling;
  readonly failing: Calling;
  readonly parked: Begun;
  readonly reviewed: Begun;
}

async function putInFlight(type: SagaType): Promise<InFlight> {
  const [running, failing, parked, reviewed] = await Promise.all([
    startCalling(type, 'running'),
    startCalling(type, 'failing'),
    start(type, 'parked', (trip) => partner.next(trip, 'take-payment', 'pending')),
    start(type, 'reviewed', (trip) => {
      partner.next(trip, 'take-payment', 'refused');
      partner.next(trip, 'cancel-seat', 'refused');
    }),
  ]);
  await plane.until(parked.id, ({ drive }) => drive.state === 'parked');
  await plane.until(reviewed.id, ({ state }) => state === 'needs_review');
  return { running, failing, parked, reviewed };
}

async function startCalling(type: SagaType, name: string): Promise<Calling> {
  let answer = (_: Reply): void => {};
  const reply = new Promise<Reply>((resolve) => {
    answer = resolve;
  });
  const begun = await start(type, name, (trip) => partner.next(trip, 'take-payment', reply));
  await eventually('the call at the partner', PATIENCE, async () =>
    partner.calls(begun.trip).includes('take-payment by 1'),
  );
  return { ...begun, answer };
}

/** `prepare`: what the partner makes of it, before there is a saga. */
async function start(
  type: SagaType,
  name: string,
  prepare: (trip: string) => void = () => {},
): Promise<Begun> {
  const trip = orderId(`${name}-${type.toLowerCase()}`);
  prepare(trip);
  const { id } = await plane.start(tripOn(type), trip, { trip });
  return { id, trip };
}

function release(number: 1 | 2): Promise<PlaneClient> {
  return deployStack({
    standIn: standInOfRun(),
    issuer,
    stack: STACK,
    app: `node --conditions=counterstep-source --import tsx ${APP}`,
    context: { release: String(number), partnerUrl: partner.url },
  });
}

interface Born {
  /** Of the definition. */
  readonly version: string | undefined;
  /** Version of the state machine. */
  readonly machine: string;
}

async function bornOf(id: string): Promise<Born> {
  const events = await plane.events(id);
  return { version: events[0]?.version, machine: machineOf(events) };
}

/** All of its drives ran on the machine version of its first event, and its chain verifies. */
async function endedAsBegun({ id }: Begun): Promise<void> {
  const events = await plane.events(id);
  expect(events[0]?.version).toBe('1');
  expect(new Set(events.flatMap(({ machine }) => machine ?? [])).size).toBe(1);
  expect(await plane.verification(id)).toMatchObject({ verdict: 'valid' });
}

/** What a person is answered who asks for the newest code. */
async function resumeOnLatest(id: string): Promise<{ status: number; detail: string }> {
  const response = await fetch(`${plane.url}/v1/sagas/${id}/resume`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(await bearer(issuer, TENANT)),
    },
    body: JSON.stringify({ machine: 'latest' }),
  });
  const { detail } = (await response.json()) as { readonly detail: string };
  return { status: response.status, detail };
}
