import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import type { SagaIndex, SagaPage, SagaQuery } from '../../lambdas/ports/saga-index.ts';
import type { SagaEvent, SagaStatus } from '../../statemachines/rules/events.ts';
import { freshTenant } from './harness.ts';

/** An index that is told of events, one after the other for each saga. */
export interface IndexHarness {
  readonly index: SagaIndex;
  seen(id: LedgerId, event: SagaEvent, hash: string): Promise<void>;
  close(): Promise<void>;
}

/** What every index of sagas must do. */
export function sagaIndexContract(name: string, open: () => Promise<IndexHarness>): void {
  describe(`saga index: ${name}`, () => {
    let harness: IndexHarness;
    beforeAll(async () => {
      harness = await open();
    });
    afterAll(() => harness.close());

    const start = (id: LedgerId, at: number, saga = 'refund') =>
      harness.seen(id, started(id, at, saga), `${id.sagaId}-1`);
    const move = (id: LedgerId, seq: number, state: SagaStatus, at = seq * 1_000) =>
      harness.seen(id, moved(seq, at, state), `${id.sagaId}-${seq}`);
    const list = (query: Partial<SagaQuery> & { tenant: string }) =>
      harness.index.list({ limit: 100, ...query });
    const ids = ({ sagas }: SagaPage) => sagas.map(({ sagaId }) => sagaId);

    /** Every page, the cursor handed on. */
    const all = async (query: Partial<SagaQuery> & { tenant: string }): Promise<string[]> => {
      const found: string[] = [];
      let page = await list(query);
      found.push(...ids(page));
      while (page.cursor !== undefined) {
        page = await list({ ...query, cursor: page.cursor });
        found.push(...ids(page));
      }
      return found;
    };

    test('oldest first; ids decide where two began at once', async () => {
      const tenant = freshTenant();
      for (const [sagaId, at] of [
        ['c', 300],
        ['b', 200],
        ['e', 200],
        ['a', 1_700_000_000_000],
      ] as const) {
        await start({ tenant, sagaId }, at);
      }
      expect(await all({ tenant })).toEqual(['b', 'e', 'c', 'a']);
    });

    test('by state, by name and by age, in every combination', async () => {
      const tenant = freshTenant();
      const states = ['running', 'needs_review', 'completed', 'compensated'] as const;
      for (let n = 0; n < 24; n += 1) {
        const id = { tenant, sagaId: `saga-${String(n).padStart(2, '0')}` };
        await start(id, 1_000 + n, n % 3 === 0 ? 'order' : 'refund');
        await move(id, 2, states[n % 4] ?? 'running');
      }
      const numbers = (found: readonly string[]) => found.map((id) => Number(id.slice(-2)));
      const expected = (keep: (n: number) => boolean) =>
        Array.from({ length: 24 }, (_, n) => n).filter(keep);
      for (const [query, keep] of [
        [{}, () => true],
        [{ states: [] }, () => false],
        [{ states: ['running'] }, (n) => n % 4 === 0],
        [{ states: ['needs_review', 'compensated'] }, (n) => n % 2 === 1],
        [{ states: ['running', 'running', 'completed'] }, (n) => n % 2 === 0],
        [{ name: 'order' }, (n) => n % 3 === 0],
        [{ name: 'order', states: ['completed'] }, (n) => n % 3 === 0 && n % 4 === 2],
        [{ name: 'order', states: ['needs_review'] }, (n) => n % 3 === 0 && n % 4 === 1],
        [{ name: 'nobody' }, () => false],
        [{ startedBefore: 1_010 }, (n) => n < 10],
        [{ startedBefore: 1_010, states: ['completed'] }, (n) => n < 10 && n % 4 === 2],
        [{ startedBefore: 0 }, () => false],
        [{ startedBefore: 1_000 }, () => false],
        [{ startedBefore: 1_000.5 }, (n) => n === 0],
      ] as readonly (readonly [Partial<SagaQuery>, (n: number) => boolean])[]) {
        const found = numbers(await all({ tenant, ...query, limit: 5 }));
        expect([query, found]).toEqual([query, expected(keep)]);
      }
    });

    test('pages end where the list ends, and hold as many as asked', async () => {
      const tenant = freshTenant();
      for (let n = 0; n < 9; n += 1) await start({ tenant, sagaId: `s${n}` }, n);
      const first = await list({ tenant, limit: 4 });
      expect(ids(first)).toEqual(['s0', 's1', 's2', 's3']);
      const second = await list({ tenant, limit: 4, cursor: first.cursor ?? '' });
      expect(ids(second)).toEqual(['s4', 's5', 's6', 's7']);
      const third = await list({ tenant, limit: 4, cursor: second.cursor ?? '' });
      expect(ids(third)).toEqual(['s8']);
      expect(third.cursor).toBeUndefined();
      expect((await list({ tenant, limit: 9 })).cursor).toBeUndefined();
    });

    test('a saga that moves on is found under its new state alone', async () => {
      const id = { tenant: freshTenant(), sagaId: 's' };
      await start(id, 5);
      const path = ['waiting', 'running', 'waiting', 'compensating', 'running', 'completed'];
      for (const [index, state] of (path as SagaStatus[]).entries()) {
        await move(id, index + 2, state);
        for (const other of new Set([...path, 'incident'] as SagaStatus[])) {
          const found = await all({ tenant: id.tenant, states: [other] });
          expect([state, other, found]).toEqual([state, other, other === state ? ['s'] : []]);
        }
        expect(await all({ tenant: id.tenant })).toEqual(['s']);
      }
    });

    test('says what is known: times, version, number, and an open review', async () => {
      const id = { tenant: freshTenant(), sagaId: 's' };
      await start(id, 1_000);
      await harness.seen(id, reviewed(2, 7_000), 'hash-2');
      const review = {
        review: 's.2',
        reviewReason: 'unknown_outcome',
        reviewDeadlineAt: 99_000,
      };
      const summary = { sagaId: 's', name: 'refund', version: '3', startedAt: 1_000 };
      const { sagas } = await list({ tenant: id.tenant });
      const open = { ...summary, state: 'needs_review', changedAt: 7_000, seq: 2, ...review };
      expect(sagas).toEqual([open]);
      await move(id, 3, 'running', 8_000);
      const moved = await list({ tenant: id.tenant });
      expect(moved.sagas).toEqual([{ ...summary, state: 'running', changedAt: 8_000, seq: 3 }]);
    });

    test('says where a compensated saga went back to, as long as it is compensated', async () => {
      const id = { tenant: freshTenant(), sagaId: 's' };
      await start(id, 1);
      const end = { ...moved(2, 2_000, 'compensated'), type: 'saga_compensated' as const };
      await harness.seen(id, { ...end, checkpoint: 'paid' }, 's-2');
      const shown = async () => (await list({ tenant: id.tenant })).sagas[0]?.checkpoint;
      expect(await shown()).toBe('paid');
      await move(id, 3, 'compensated');
      expect(await shown()).toBe('paid');
      await move(id, 4, 'incident');
      expect(await shown()).toBeUndefined();
    });

    test('an event that is older than what is known changes nothing', async () => {
      const id = { tenant: freshTenant(), sagaId: 's' };
      await start(id, 1);
      await move(id, 2, 'waiting');
      await move(id, 3, 'completed');
      await move(id, 2, 'waiting');
      await start(id, 1);
      expect(await all({ tenant: id.tenant, states: ['completed'] })).toEqual(['s']);
      expect(await all({ tenant: id.tenant, states: ['waiting', 'running'] })).toEqual([]);
      expect(await harness.index.head(id.tenant, 's')).toEqual({ seq: 3, hash: 's-3' });
    });

    test('the head that was noted, of this saga and of no other', async () => {
      const id = { tenant: freshTenant(), sagaId: 's' };
      await start(id, 1);
      await move(id, 2, 'running');
      expect(await harness.index.head(id.tenant, 's')).toEqual({ seq: 2, hash: 's-2' });
      expect(await harness.index.head(id.tenant, 't')).toBeUndefined();
      expect(await harness.index.head(freshTenant(), 's')).toBeUndefined();
    });

    test('nothing crosses a tenant, whatever its name begins with', async () => {
      // What it begins with is no other's name.
      const tenant = `${freshTenant()}a`;
      await start({ tenant, sagaId: 's' }, 1);
      await start({ tenant: `${tenant}-b`, sagaId: 's' }, 1);
      expect(await all({ tenant })).toEqual(['s']);
      expect(await all({ tenant: tenant.slice(0, -1) })).toEqual([]);
      expect(await all({ tenant: `${tenant}-b`, states: ['running'] })).toEqual(['s']);
    });

    test('a cursor fits the tenant and the question it came from, and no other', async () => {
      const [tenant, other] = [freshTenant(), freshTenant()];
      for (const of of [tenant, other]) {
        for (const sagaId of ['a', 'b', 'c']) await start({ tenant: of, sagaId }, 1);
      }
      const query = { tenant, states: ['running', 'waiting'], name: 'refund', limit: 1 } as const;
      const { cursor = '' } = await list(query);
      expect(ids(await list({ ...query, states: ['waiting', 'running'], cursor }))).toEqual(['b']);
      for (const wrong of [
        { ...query, tenant: other, cursor },
        { ...query, states: ['running'] as const, cursor },
        { tenant, name: 'refund', limit: 1, cursor },
        { ...query, name: 'order', cursor },
        { ...query, startedBefore: 9, cursor },
        { ...query, cursor: `${cursor}x` },
        { ...query, cursor: 'W10' },
        { ...query, cursor: '' },
      ]) {
        await expect(list(wrong)).rejects.toMatchObject({ name: 'Counterstep.CursorInvalid' });
      }
    });

    test('paging goes on while sagas move and new ones begin', async () => {
      const tenant = freshTenant();
      for (let n = 0; n < 12; n += 1) await start({ tenant, sagaId: `s${10 + n}` }, n);
      const found: string[] = [];
      let cursor: string | undefined;
      let round = 0;
      do {
        const page = await list({ tenant, limit: 3, ...(cursor === undefined ? {} : { cursor }) });
        found.push(...ids(page));
        cursor = page.cursor;
        await move({ tenant, sagaId: `s${10 + round}` }, 2, 'completed');
        await start({ tenant, sagaId: `t${round}` }, 1_000 + round);
        round += 1;
      } while (cursor !== undefined && round < 20);
      expect(new Set(found).size).toBe(found.length);
      expect(found.slice(0, 12)).toEqual(Array.from({ length: 12 }, (_, n) => `s${10 + n}`));
    });
  });
}

const RUNNING = { state: 'running', drive: 'running', epoch: 1, actor: 'test' } as const;

function started({ tenant, sagaId }: LedgerId, at: number, name: string): SagaEvent {
  return {
    type: 'saga_started',
    ...RUNNING,
    seq: 1,
    at,
    protocol: 1,
    tenant,
    sagaId,
    principal: 'test',
    name,
    version: '3',
    sagaType: 'STANDARD',
    planDigest: 'digest',
    machine: 'machine',
    key: 'key',
    bodyDigest: 'digest',
    input: { kind: 'inline', value: {} },
    steps: [],
    registeredAt: at,
  };
}

/** Any event but a start: the index looks at its head alone. */
function moved(seq: number, at: number, state: SagaStatus): SagaEvent {
  return { ...RUNNING, type: 'drive_granted', reason: 'due', seq, at, state };
}

function reviewed(seq: number, at: number): SagaEvent {
  return {
    ...RUNNING,
    type: 'review_opened',
    state: 'needs_review',
    drive: 'parked',
    seq,
    at,
    review: 's.2',
    reason: 'unknown_outcome',
    steps: [],
    explanation: 'nobody knows',
    deadlineAt: 99_000,
  };
}
