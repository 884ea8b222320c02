import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../lambdas/ports/clock.ts';
import { systemEntropy } from '../../lambdas/ports/entropy.ts';
import type { LedgerId, LedgerRecord } from '../../lambdas/ports/ledger-store.ts';
import { silentLog } from '../../lambdas/ports/log.ts';
import type { SagaIndex } from '../../lambdas/ports/saga-index.ts';
import { headOf, summaryWithMark } from '../../lambdas/projection/noted.ts';
import { SagaLedger } from '../../lambdas/runtime/saga-ledger.ts';
import type { Principal } from '../../lambdas/service/principal.ts';
import { SagaService } from '../../lambdas/service/service.ts';
import { eventsOf, inserted, ledgerOf, modified, recordsOf, removed } from './ledgers.ts';
import { MemoryProjection, OutboxWorld } from './world.ts';

/** What the API answers from the projection that the outbox has written. */
function indexOver({ sagas }: MemoryProjection): SagaIndex {
  return {
    async list({ tenant }) {
      const rows = [...sagas.values()].flatMap((noted) =>
        noted.row?.tenant === tenant ? [summaryWithMark(noted.row, noted)] : [],
      );
      return { sagas: rows };
    },
    async head(tenant, sagaId) {
      const noted = sagas.get(`${tenant}/${sagaId}`);
      return noted === undefined ? undefined : headOf(noted);
    },
  };
}

const id: LedgerId = { tenant: 'acme', sagaId: 'saga-a' };
const auditor: Principal = { tenant: 'acme', id: 'ada', roles: ['auditor', 'reader'] };
const records = ledgerOf('undone', id);
const at = (seq: number): LedgerRecord => {
  const record = records[seq - 1];
  if (record === undefined) throw new Error(`no record ${seq}`);
  return record;
};

let world: OutboxWorld;
let service: SagaService;
beforeEach(async () => {
  const projection = new MemoryProjection();
  world = new OutboxWorld({ projection });
  const { stores } = world;
  const host = { stores, clock: systemClock, entropy: systemEntropy, log: silentLog };
  service = new SagaService({
    host,
    ledger: new SagaLedger(host),
    sagas: [],
    index: indexOver(projection),
    machineOf: () => 'machine',
  });
  await world.append(id, records);
  await world.take(...records.map((record) => inserted(id, record)));
});

const ledger = () => world.stores.held.ledgers.get('acme/saga-a') ?? [];
const verified = () => service.verification(auditor, 'saga-a');

describe('what the outbox noted is what a ledger is verified against', () => {
  test('nothing happened: the chain holds, up to the noted head', async () => {
    const verdict = await verified();
    expect(verdict).toMatchObject({ verdict: 'valid', head: { seq: 9 } });
    expect(verdict.checkedAgainst).toContain('projection');
    expect(verdict).not.toHaveProperty('tampered');
  });

  test('a tail that was cut is missed, though the rest is a whole chain', async () => {
    ledger().splice(6);
    await world.take(...records.slice(6).map((record) => removed(id, record)));
    expect(await verified()).toMatchObject({
      verdict: 'invalid',
      problem: 'cut_tail',
      head: { seq: 6 },
      tampered: { seq: 7, found: 'removed', at: '2023-11-14T22:13:20.000Z' },
    });
  });

  test('a ledger that is gone is missed', async () => {
    ledger().splice(0);
    await world.take(...records.map((record) => removed(id, record)));
    expect(await verified()).toMatchObject({ verdict: 'invalid', problem: 'missing' });
  });

  test('also where nothing but the removal was ever seen', async () => {
    const other = { tenant: 'acme', sagaId: 'saga-b' };
    await world.take(removed(other, at(9)));
    expect(await service.verification(auditor, 'saga-b')).toMatchObject({
      verdict: 'invalid',
      problem: 'missing',
      tampered: { seq: 9 },
    });
  });

  test('a chain that was written anew as a whole is another than the noted one', async () => {
    const [started, ...rest] = eventsOf('undone', id);
    if (started === undefined) throw new Error('the story is empty');
    const forged = recordsOf(id, [{ ...started, actor: 'somebody else' }, ...rest]);
    ledger().splice(0, Number.POSITIVE_INFINITY, ...forged);
    expect(await verified()).toMatchObject({ verdict: 'invalid', problem: 'rewritten', seq: 9 });
    await world.take(...forged.map((record) => modified(id, at(record.seq), record)));
    expect(await verified()).toMatchObject({ problem: 'rewritten', tampered: { seq: 1 } });
  });

  test('what was changed and changed back verifies, and stays marked', async () => {
    await world.take(modified(id, at(3), { ...at(3), body: '{}' }));
    await world.take(modified(id, { ...at(3), body: '{}' }, at(3)));
    const mark = { seq: 3, found: 'modified', at: '2023-11-14T22:13:20.000Z' };
    expect(await verified()).toMatchObject({ verdict: 'valid', tampered: mark });
    const page = await service.list(auditor, { limit: 10 });
    expect(page.sagas).toMatchObject([{ id: 'saga-a', state: 'compensated', tampered: mark }]);
  });
});
