import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPartners } from '../../examples/partners/start.ts';
import { partnersContract } from './partners.contract.ts';
import { type Bench, startBench } from './support.ts';

partnersContract('a process, records on disk', async () => {
  const calls = await startBench();
  return { calls, close: () => calls.stop() };
});

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

const reservation = (orderId: string) => ({ orderId, sku: 'LAMP', quantity: 2 });

describe('the process', () => {
  it('keeps every answered effect and every key over kill -9, at the same address', async () => {
    const headers = { 'idempotency-key': 'kill-1', 'x-correlation-id': 'c-kill-1' };
    const { body } = await bench.post('/stock/reservations', reservation('K-1'), headers);
    const before = await bench.records('stock', 'K-1');
    const { url, pid } = bench.partners;
    await bench.partners.restart();
    expect(bench.partners.url).toBe(url);
    expect(bench.partners.pid).not.toBe(pid);
    expect(await bench.records('stock', 'K-1')).toEqual(before);
    const again = await bench.post('/stock/reservations', reservation('K-1'), headers);
    expect(again.body).toEqual(body);
    expect((await bench.records('stock', 'K-1')).effects).toHaveLength(1);
  });

  it('marks what it was busy with when it was killed, and gives no number twice', async () => {
    await bench.fault({ system: 'stock', operation: 'reserve', fault: 'slow', delayMs: 60_000 });
    const cut = bench.post('/stock/reservations', reservation('K-2')).catch(() => 'cut off');
    while ((await bench.records('stock', 'K-2')).calls.length === 0);
    await bench.partners.restart();
    expect(await cut).toBe('cut off');
    const { calls, effects } = await bench.records('stock', 'K-2');
    expect(calls).toMatchObject([{ outcome: 'interrupted', fault: 'slow', status: null }]);
    expect(effects).toEqual([]);
    await bench.post('/stock/reservations', reservation('K-2'));
    const all = await bench.records('stock');
    const numbers = [...all.calls, ...all.effects].map(({ seq }) => seq);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it('says why it cannot start', async () => {
    const { port } = new URL(bench.partners.url);
    const second = startPartners({ dataDir: `${bench.dataDir}/second`, port: Number(port) });
    await expect(second).rejects.toThrow(`cannot listen on port ${port}`);
  });
});
