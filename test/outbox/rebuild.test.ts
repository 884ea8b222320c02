import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Outbox } from '../../lambdas/outbox/outbox.ts';
import { type Progress, type RebuildProgress, rebuild } from '../../lambdas/outbox/rebuild.ts';
import type { LedgerScan } from '../../lambdas/ports/ledger-scan.ts';
import { type LedgerId, StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import { silentLog } from '../../lambdas/ports/log.ts';
import { dynamoLedgerScan } from '../../lambdas/stores/dynamodb/ledger-scan.ts';
import { dynamoStores } from '../../lambdas/stores/dynamodb/open.ts';
import { dynamoSagaIndex } from '../../lambdas/stores/dynamodb/saga-index.ts';
import { type Dynalite, startDynalite } from '../support/dynalite.ts';
import { ALL_STORIES, inserted, ledgerOf, type Story } from './ledgers.ts';
import { keyOf, MemoryProjection, OutboxWorld } from './world.ts';

/** Every ledger of the world, two to a page. */
function scanOf(world: OutboxWorld): LedgerScan & { readonly pages: string[] } {
  const pages: string[] = [];
  return {
    pages,
    async page({ index, of }, cursor) {
      pages.push(`${index}:${cursor ?? ''}`);
      const keys = [...world.stores.held.ledgers.keys()].sort();
      const own = keys.filter((_, n) => n % of === index);
      const from = Number(cursor ?? 0);
      const ledgers = own.slice(from, from + 2).map((key) => {
        const [tenant = '', sagaId = ''] = key.split('/');
        return { tenant, sagaId };
      });
      return { ledgers, ...(from + 2 < own.length ? { cursor: String(from + 2) } : {}) };
    },
  };
}

class MemoryProgress implements RebuildProgress {
  saved: Progress | undefined;
  async load() {
    return this.saved;
  }
  async save(progress: Progress) {
    this.saved = progress;
  }
}

const impatient = { sleep: async () => undefined };

describe('a rebuild', () => {
  let world: OutboxWorld;
  const sagas: (readonly [LedgerId, Story])[] = ALL_STORIES.map((story, n) => [
    { tenant: n % 2 === 0 ? 'acme' : 'beta', sagaId: `s${n}` },
    story,
  ]);
  const rebuilt = (over: OutboxWorld, more: object = {}) =>
    rebuild(
      {
        scan: scanOf(over),
        outbox: over.outbox,
        progress: new MemoryProgress(),
        clock: impatient,
        log: silentLog,
        ...more,
      },
      2,
    );
  /** Another process over the same ledgers, with a projection of its own. */
  const beside = ({ stores }: OutboxWorld, projection = new MemoryProjection()) =>
    new OutboxWorld({ stores, projection });

  beforeEach(async () => {
    world = new OutboxWorld();
    for (const [id, story] of sagas) {
      const records = ledgerOf(story, id);
      await world.append(id, records);
      await world.take(...records.map((record) => inserted(id, record)));
    }
  });

  test('of a lost projection ends with the same rows and heads', async () => {
    const fresh = beside(world);
    const report = await rebuilt(fresh, { publishSince: Number.POSITIVE_INFINITY });
    expect(report).toEqual({ sagas: sagas.length, tampered: [], failed: [] });
    for (const [id] of sagas) {
      expect(await fresh.projection.noted(id)).toEqual(await world.projection.noted(id));
    }
    expect(fresh.bus.taken).toEqual([]);
  });

  test('mends a row that is wrong', async () => {
    const [id] = sagas[0] ?? [];
    if (id === undefined) throw new Error('no saga');
    const { sagas: noted } = world.projection as MemoryProjection;
    const good = noted.get(keyOf(id));
    if (good?.row === undefined) throw new Error('not noted');
    noted.set(keyOf(id), { ...good, row: { ...good.row, state: 'incident', name: 'wrong' } });
    await rebuilt(world);
    expect(await world.projection.noted(id)).toEqual(good);
  });

  test('publishes what was not, from the given time on, and nothing again', async () => {
    const fresh = beside(world);
    fresh.bus.refuses = () => true;
    const [first, second] = sagas;
    if (first === undefined || second === undefined) throw new Error('no sagas');
    for (const record of ledgerOf(first[1], first[0])) await fresh.take(inserted(first[0], record));
    fresh.bus.refuses = () => false;
    await rebuilt(fresh, { publishSince: 0 });
    const ids = (of: OutboxWorld) => of.bus.taken.map(({ detail }) => detail.id).sort();
    expect(ids(fresh)).toEqual(ids(world));
    await rebuilt(fresh, { publishSince: 0 });
    expect(ids(fresh)).toEqual(ids(world));

    const late = beside(world);
    await rebuilt(late, { publishSince: 1_000_001 });
    expect(late.bus.taken.length).toBeGreaterThan(0);
    expect(late.bus.taken.length).toBeLessThan(world.bus.taken.length);
    expect(late.bus.taken.every(({ at }) => at >= 1_000_001)).toBe(true);
  });

  test('without a bus leaves it to the outbox to publish', async () => {
    const fresh = beside(world);
    const { publisher: _none, ...parts } = fresh.parts;
    await rebuilt(fresh, { outbox: new Outbox(parts) });
    expect(fresh.bus.taken).toEqual([]);
    const [id, story] = sagas[1] ?? [];
    if (id === undefined || story === undefined) throw new Error('no saga');
    await fresh.take(...ledgerOf(story, id).map((record) => inserted(id, record)));
    expect(fresh.bus.types(id.sagaId)).toEqual(world.bus.types(id.sagaId));
  });

  test('beside live traffic moves nothing back', async () => {
    const fresh = beside(world, world.projection as MemoryProjection);
    const live = { tenant: 'acme', sagaId: 'live' };
    const records = ledgerOf('undone', live);
    await Promise.all([
      (async () => {
        for (const record of records) {
          await world.append(live, [record]);
          await world.take(inserted(live, record));
        }
      })(),
      rebuilt(fresh),
      rebuilt(fresh),
    ]);
    expect(await world.projection.noted(live)).toMatchObject({
      head: { seq: 9 },
      row: { state: 'compensated' },
      published: 9,
      tampered: [],
    });
  });

  test('finds ledgers that are shorter than what was noted, and keeps what was', async () => {
    const [id] = sagas[2] ?? [];
    if (id === undefined) throw new Error('no saga');
    const before = await world.projection.noted(id);
    world.stores.held.ledgers.get(keyOf(id))?.splice(5);
    const report = await rebuilt(world);
    expect(report.tampered).toEqual([id]);
    expect(await world.projection.noted(id)).toEqual({
      ...before,
      tampered: [{ seq: 6, at: expect.any(Number), found: 'missing' }],
    });
    expect(world.bus.types(id.sagaId)).toContain('ledger.tampered');
  });

  test('goes on where it broke off', async () => {
    const fresh = beside(world);
    const scan = scanOf(fresh);
    const progress = new MemoryProgress();
    let left = 2;
    const dying: LedgerScan = {
      async page(...given) {
        left -= 1;
        if (left < 0) throw new StoreUnavailable('injected: gone for good');
        return scan.page(...given);
      },
    };
    await expect(rebuilt(fresh, { scan: dying, progress })).rejects.toThrow('gone for good');
    expect(scan.pages).toEqual(['0:', '1:']);
    await rebuilt(fresh, { scan, progress });
    expect(scan.pages.filter((page) => page === '0:' || page === '1:')).toHaveLength(2);
    expect(progress.saved?.segments).toEqual([{ kind: 'done' }, { kind: 'done' }]);
    for (const [id] of sagas) expect((await fresh.projection.noted(id))?.row).toBeDefined();
  });

  test('tells also what failed before it broke off', async () => {
    const fresh = beside(world);
    const scan = scanOf(fresh);
    const progress = new MemoryProgress();
    const failing = {
      rebuild: async (id: LedgerId) => {
        if (id.sagaId === 's1') throw new TypeError('injected');
        return fresh.outbox.rebuild(id);
      },
    };
    let breaks = false;
    const dying: LedgerScan = {
      async page(...given) {
        if (breaks) throw new StoreUnavailable('injected: gone for good');
        const page = await scan.page(...given);
        breaks = page.ledgers.some(({ sagaId }) => sagaId === 's1');
        return page;
      },
    };
    const parts = { outbox: failing, progress };
    await expect(rebuilt(fresh, { ...parts, scan: dying })).rejects.toThrow('gone for good');
    const report = await rebuilt(fresh, { ...parts, scan });
    expect(report.failed).toMatchObject([{ sagaId: 's1' }]);
  });

  test('asks a store that is busy again, and one saga’s fault does not end it', async () => {
    const fresh = beside(world);
    let busy = 3;
    const outbox = {
      async rebuild(id: LedgerId) {
        if (id.sagaId === 's4') throw new TypeError('injected');
        busy -= 1;
        if (busy >= 0) throw new StoreUnavailable('injected', { throttled: true });
        return fresh.outbox.rebuild(id);
      },
    };
    const report = await rebuilt(fresh, { outbox });
    expect(report).toMatchObject({ sagas: sagas.length, failed: [{ sagaId: 's4' }] });
  });
});

describe('on DynamoDB', () => {
  let server: Dynalite;
  let folder: string;
  const ids = Array.from({ length: 30 }, (_, n) => ({ tenant: `t${n % 3}`, sagaId: `saga-${n}` }));
  beforeAll(async () => {
    server = await startDynalite();
    folder = mkdtempSync(join(tmpdir(), 'counterstep-rebuild-'));
    const { ledger } = dynamoStores({ ...server, mode: 'conditional-put' });
    for (const id of ids) {
      for (const record of ledgerOf('completed', id)) await ledger.append(id, record);
    }
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await server.close();
  });

  test('the scan finds every ledger, over all segments and pages', async () => {
    const scan = dynamoLedgerScan({
      client: server.client,
      table: server.tables.ledger,
      pageSize: 7,
    });
    const found = new Set<string>();
    for (let index = 0; index < 3; index += 1) {
      let cursor: string | undefined;
      do {
        const page = await scan.page({ index, of: 3 }, cursor);
        for (const id of page.ledgers) found.add(keyOf(id));
        cursor = page.cursor;
      } while (cursor !== undefined);
    }
    expect([...found].sort()).toEqual(ids.map(keyOf).sort());
    await expect(scan.page({ index: 0, of: 1 }, 'nonsense')).rejects.toThrow(/start over/);
  });

  test('the command rebuilds a plane', async () => {
    const progress = join(folder, 'progress.json');
    const ran = await command('--progress', progress, '--segments', '2');
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ran.out)).toEqual({ sagas: 30, tampered: [], failed: [] });
    const index = dynamoSagaIndex({ client: server.client, table: server.tables.coordination });
    const page = await index.list({ tenant: 't1', states: ['completed'], limit: 50 });
    expect(page.sagas).toHaveLength(10);
    expect(await index.head('t1', 'saga-1')).toMatchObject({ seq: 6 });
    expect(JSON.parse(readFileSync(progress, 'utf8'))).toEqual({
      segments: [{ kind: 'done' }, { kind: 'done' }],
      tampered: [],
      failed: [],
    });
    const half = await command('--event-bus', 'sagas');
    expect(half.code).toBe(1);
    expect(half.err).toContain('--event-bus and --since belong together');
    const bus = ['--event-bus', 'sagas', '--since', '2026-01-31T12:00:00Z'];
    const wrong = await command(...bus, '--events', 'completed,done');
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain('there is no event "done"');
  });

  async function command(...args: readonly string[]) {
    const { ledger, coordination } = server.tables;
    const tables = ['--ledger-table', ledger, '--coordination-table', coordination];
    const source = ['--conditions=counterstep-source', '--import', 'tsx', 'local/cli/main.ts'];
    const child = spawn(process.execPath, [...source, 'rebuild', ...tables, ...args], {
      env: {
        ...process.env,
        NODE_NO_WARNINGS: '1',
        AWS_ENDPOINT_URL: server.endpoint,
        AWS_REGION: 'eu-central-1',
        AWS_ACCESS_KEY_ID: 'local',
        AWS_SECRET_ACCESS_KEY: 'local',
      },
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    const code = await new Promise<number | null>((done) => child.on('close', done));
    return { code, out, err };
  }
});
