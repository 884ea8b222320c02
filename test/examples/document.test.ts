import { openLocalPlane } from 'counterstep/local';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlaneClient } from '../../examples/demo/plane-client.ts';
import { documentOf } from '../../examples/document/saga.ts';
import { documentTools } from '../../examples/document/tools.ts';
import type { CallRecord, EffectRecord, SystemName } from '../../examples/partners/records.ts';
import { type Bench, folder, startBench } from './support.ts';

const SYSTEMS: readonly SystemName[] = ['documents', 'search', 'register'];
const WRITES = ['documents.store', 'register.publish', 'search.list'];
const UNDOES = ['search.bury', 'register.restore', 'documents.withdraw'];

/** What one run calls when nothing goes wrong, step by step. */
const STEPS = [
  'documents.intake',
  'documents.store',
  'documents.text',
  'register.classify',
  'register.publish',
  'search.duplicates',
  'register.retention',
  'search.list',
  'search.entry',
  'register.valid',
  'register.deliver',
];

let bench: Bench;
let client: PlaneClient;
let cases = 0;

beforeAll(async () => {
  bench = await startBench();
}, 30_000);

afterAll(() => bench.stop());

function nextCase(): string {
  cases += 1;
  return `D-${cases}`;
}

interface Ran {
  readonly id: string;
  readonly state: string;
  readonly calls: readonly CallRecord[];
  /** In the order in which they were called. */
  readonly called: readonly string[];
  readonly effects: readonly EffectRecord[];
}

/** Runs one document to its end, and reads at the partners what that did to them. */
async function run(caseId: string): Promise<Ran> {
  const before = (await everything()).calls.length;
  const input = { caseId, title: 'An invoice of May', recipient: 'ada@example.com' };
  const { id } = await client.start('document', `document-${caseId}`, input);
  const { state } = await client.untilEnded(id);
  const { calls, effects } = await everything();
  const mine = calls.slice(before);
  return {
    id,
    state,
    calls: mine,
    called: mine.map(({ system, operation }) => `${system}.${operation}`),
    effects: effects.filter(({ orderId }) => orderId === caseId),
  };
}

async function everything(): Promise<{ calls: CallRecord[]; effects: EffectRecord[] }> {
  const all = await Promise.all(SYSTEMS.map((system) => bench.records(system)));
  const bySeq = (left: { seq: number }, right: { seq: number }): number => left.seq - right.seq;
  return {
    calls: all.flatMap(({ calls }) => calls).toSorted(bySeq),
    effects: all.flatMap(({ effects }) => effects).toSorted(bySeq),
  };
}

function named(effects: readonly EffectRecord[]): string[] {
  return effects.map(({ system, operation }) => `${system}.${operation}`);
}

/** What stands at the partners of the case itself; counter-entries only say that something does not. */
function standing(effects: readonly EffectRecord[]): string[] {
  return named(effects.filter(({ state, reverses }) => state === 'standing' && reverses === null));
}

/** Each id that the report names is one of the partners' own, undone exactly where the report says so. */
async function reportAgrees({ id, effects }: Ran): Promise<void> {
  const { steps } = await client.standing(id);
  for (const { step, standing: word, externalIds } of steps) {
    const own = effects.filter(({ externalId }) => Object.values(externalIds).includes(externalId));
    expect([step, own.length]).toEqual([step, Object.keys(externalIds).length]);
    const made = own.filter(({ reverses }) => reverses === null);
    const state = word === 'reversed' || word === 'superseded' ? 'reversed' : 'standing';
    expect([step, ...made.map((effect) => effect.state)]).toEqual([step, ...made.map(() => state)]);
  }
  const told = steps.flatMap(({ externalIds }) => Object.values(externalIds));
  expect(told.toSorted()).toEqual(effects.map(({ externalId }) => externalId).toSorted());
}

describe.each(['STANDARD', 'EXPRESS'] as const)('the document pipeline, %s', (type) => {
  const document = documentOf(type);
  const data = folder();
  let plane: Awaited<ReturnType<typeof openLocalPlane>>;
  beforeAll(async () => {
    const tools = Object.values(documentTools({ partnersUrl: bench.partners.url }));
    plane = await openLocalPlane({ sagas: [document], tools, dataDir: data.path, port: 0 });
    client = new PlaneClient(plane.url);
  }, 30_000);

  afterAll(async () => {
    await plane.close();
    data.remove();
  });

  it('has eleven steps, three of which write what can be undone, before the delivery', () => {
    const { steps, recoveryWaves } = document.plan;
    expect(steps.map(({ name }) => name)).toEqual(
      Array.from({ length: 11 }, (_, index) => `DD${String(index + 1).padStart(2, '0')}`),
    );
    const writing = steps.filter(({ effect }) => effect !== 'read_only');
    expect(writing.map(({ name, effect }) => [name, effect])).toEqual([
      ['DD02', 'reversible'],
      ['DD05', 'supersede'],
      ['DD08', 'compensable'],
      ['DD11', 'irreversible'],
    ]);
    expect(recoveryWaves).toEqual([['DD11'], ['DD08'], ['DD05'], ['DD02']]);
  });

  it('delivers, and undoes nothing', async () => {
    const ran = await run(nextCase());
    expect(ran.state).toBe('completed');
    expect(ran.called).toEqual(STEPS);
    expect(standing(ran.effects)).toEqual([...WRITES, 'register.deliver']);
    await reportAgrees(ran);
    expect((await client.events(ran.id))[0]).toMatchObject({ sagaType: type });
  });

  it('DD11 fails for good: exactly DD08, DD05 and DD02 are undone, in that order', async () => {
    const caseId = nextCase();
    const earlier = await bench.post(`/register/entries/${caseId}/versions`, {
      fileId: 'FIL-before',
      class: 'letter',
    });
    await bench.fault({
      system: 'register',
      operation: 'deliver',
      fault: 'refuse',
      code: 'recipient_unknown',
      match: { orderId: caseId },
    });
    const ran = await run(caseId);
    expect(ran.state).toBe('compensated');
    // Each once, and nothing else: no read is repeated, no other system asked.
    expect(ran.called).toEqual([...STEPS, ...UNDOES]);
    const [before, ...mine] = ran.effects;
    expect(before?.externalId).toBe(earlier.body.versionId);
    expect(named(mine)).toEqual([...WRITES, ...UNDOES]);
    expect(standing(mine)).toEqual([]);
    await reportAgrees({ ...ran, effects: mine });
    // The earlier version is the valid one again.
    const valid = await bench.get(`/register/entries/${caseId}`);
    expect(valid.body.versionId).toBe(earlier.body.versionId);

    const listed = await fetch(`${client.url}/v1/sagas?state=compensated&name=document`);
    const { sagas } = (await listed.json()) as { readonly sagas: readonly object[] };
    expect(sagas).toContainEqual(expect.objectContaining({ id: ran.id, checkpoint: 'DD01' }));

    const report = await client.standing(ran.id);
    expect(report.clear).toBe(true);
    const words = report.steps.map(({ step, standing: word }) => [step, word]);
    expect(words.filter(([, word]) => word !== 'nothing')).toEqual([
      ['DD02', 'reversed'],
      ['DD05', 'superseded'],
      ['DD08', 'reversed'],
    ]);
    const events = await client.events(ran.id);
    const planned = events.find(({ type }) => type === 'recovery_planned');
    const entries = [
      { step: 'DD08', action: 'compensate', after: [] },
      { step: 'DD05', action: 'supersede', after: ['DD08'] },
      { step: 'DD02', action: 'compensate', after: ['DD05', 'DD08'] },
    ];
    expect(planned).toMatchObject({ plan: { entries } });
    expect((await client.verification(ran.id)).verdict).toBe('valid');
  });

  it('is run again from its checkpoint once the cause is mended', async () => {
    const caseId = nextCase();
    const match = { orderId: caseId };
    await bench.fault({ system: 'register', operation: 'deliver', fault: 'refuse', match });
    const first = await run(caseId);
    expect(first.state).toBe('compensated');
    const before = (await everything()).calls.length;
    const response = await fetch(`${client.url}/v1/sagas/${first.id}/rerun`, {
      method: 'POST',
      headers: { 'idempotency-key': `again-${caseId}` },
    });
    const { id } = (await response.json()) as { readonly id: string };
    expect((await client.untilEnded(id)).state).toBe('completed');
    const { calls, effects } = await everything();
    const called = calls.slice(before).map(({ system, operation }) => `${system}.${operation}`);
    expect(called).toEqual(STEPS.slice(1));
    const mine = effects.filter(({ orderId }) => orderId === caseId);
    expect(standing(mine)).toEqual([...WRITES, 'register.deliver']);
  });

  it('finds lost answers out, forward and back, and makes nothing twice', async () => {
    const caseId = nextCase();
    const match = { orderId: caseId };
    const lost = { fault: 'commit_then_drop', match } as const;
    await bench.fault({ system: 'documents', operation: 'store', ...lost });
    await bench.fault({ system: 'register', operation: 'publish', ...lost });
    await bench.fault({ system: 'register', operation: 'restore', ...lost });
    await bench.fault({ system: 'search', operation: 'bury', ...lost });
    await bench.fault({ system: 'register', operation: 'deliver', fault: 'refuse', match });
    const ran = await run(caseId);
    expect(ran.state).toBe('compensated');
    expect(named(ran.effects)).toEqual([...WRITES, ...UNDOES]);
    await reportAgrees(ran);
  });

  it('an undo that is refused holds what is ordered after it, and says so', async () => {
    const caseId = nextCase();
    const match = { orderId: caseId };
    await bench.fault({ system: 'register', operation: 'restore', fault: 'refuse', match });
    await bench.fault({ system: 'register', operation: 'deliver', fault: 'refuse', match });
    const ran = await run(caseId);
    expect(ran.state).toBe('needs_review');
    expect(standing(ran.effects)).toEqual(['documents.store', 'register.publish']);
    await reportAgrees(ran);
    await client.resume(ran.id);
    const { state } = await client.until(ran.id, (saga) => saga.state === 'compensated');
    expect(state).toBe('compensated');
    const { effects } = await everything();
    expect(standing(effects.filter(({ orderId }) => orderId === caseId))).toEqual([]);
  });

  it('stops at the first read that makes it pointless', async () => {
    const caseId = nextCase();
    await bench.fault({ system: 'register', operation: 'retention', fault: 'refuse' });
    const ran = await run(caseId);
    expect(ran.state).toBe('compensated');
    expect(ran.called).toEqual([...STEPS.slice(0, 7), 'register.restore', 'documents.withdraw']);
  });
});
