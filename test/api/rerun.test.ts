import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { safeParse } from 'zod/v4/core';
import { type SagaView, sagaSchema, standingSchema } from '../../lambdas/service/wire.ts';
import { hold, refused } from '../../lambdas/tool/failures.ts';
import { bundle, type Ran, runProgram } from '../cli/program.ts';
import { ada, EffectBench } from '../effects/bench.ts';
import { openServer, problemOf, type Server } from './server.ts';

/** Running a saga again, as callers see it: over HTTP, and from the command line. */

let shut = true;
let unsure = false;
let bench: EffectBench;
let server: Server;
let folder: string;
let program: string;
beforeAll(async () => {
  bench = await EffectBench.open([
    { name: 'hold', checkpoint: true },
    {
      name: 'ship',
      forward: () => {
        if (unsure) throw hold('look', 'a person has to look first');
        if (shut) throw refused('no', 'not today');
      },
    },
  ]);
  server = await openServer(bench.service, { ada, eve: { ...ada, tenant: 'umbra' } });
  folder = mkdtempSync(join(tmpdir(), 'counterstep-rerun-'));
  program = await bundle(folder);
});
afterAll(async () => {
  await server.close();
  await bench.close();
  rmSync(folder, { recursive: true });
});

const run = (...args: readonly string[]): Promise<Ran> => runProgram([program, ...args], server);

async function failed(key: string): Promise<SagaView> {
  shut = true;
  const saga = await bench.run(key);
  expect(saga).toMatchObject({ state: 'compensated', checkpoint: 'hold' });
  return saga;
}

describe('--everything', () => {
  test.each([
    ['cancel', (saga: SagaView) => ['cancel', saga.id, '--reason', 'called off']],
    [
      'review decide',
      ({ review }: SagaView) => ['review', 'decide', review?.id ?? '', '--recover'],
    ],
  ])('of %s takes no notice of the checkpoint', async (what, command) => {
    unsure = true;
    const held = await bench.run(`k-${what}`);
    unsure = false;
    expect(held.state).toBe('needs_review');
    const ran = await run(...command(held), '--everything');
    expect([ran.code, ran.err]).toEqual([0, '']);
    const ended = await bench.rested(held.id);
    expect(ended).toMatchObject({ state: 'compensated', halt: { everything: true } });
    expect(ended).not.toHaveProperty('checkpoint');
    expect((await bench.standing(held.id)).clear).toBe(true);
  });

  test('belongs to a decision to recover, and to no other', async () => {
    unsure = true;
    const held = await bench.run('k-retry');
    unsure = false;
    const ran = await run('review', 'decide', held.review?.id ?? '', '--retry', '--everything');
    expect([ran.code, ran.err]).toEqual([
      1,
      expect.stringContaining('--retry has no --everything'),
    ]);
  });
});

describe('POST /v1/sagas/{id}/rerun', () => {
  const headers = { 'idempotency-key': 'again-1' };

  test('answers 202 with the new saga, and with the same one under the same key', async () => {
    const old = await failed('k-1');
    shut = false;
    const response = await server.post(`/v1/sagas/${old.id}/rerun`, '', headers);
    expect(response.status).toBe(202);
    const saga = (await response.json()) as SagaView;
    expect(response.headers.get('location')).toBe(`/v1/sagas/${saga.id}`);
    expect(saga).toMatchObject({ previous: old.id });
    await bench.rested(saga.id);
    const repeated = await server.post(`/v1/sagas/${old.id}/rerun`, '{}', headers);
    expect(await repeated.json()).toMatchObject({ id: saga.id, replayed: true });
    for (const id of [old.id, saga.id]) {
      const answers = [
        [sagaSchema, await (await server.call(`/v1/sagas/${id}`)).json()],
        [standingSchema, await (await server.call(`/v1/sagas/${id}/standing`)).json()],
      ] as const;
      for (const [schema, answer] of answers) {
        expect(safeParse(schema, answer).error?.issues ?? []).toEqual([]);
      }
    }
  });

  test('needs a key, and knows no saga of another tenant', async () => {
    const old = await failed('k-2');
    const path = `/v1/sagas/${old.id}/rerun`;
    expect(await problemOf(await server.post(path, ''))).toMatchObject({
      status: 400,
      at: 'Idempotency-Key',
    });
    const init = { method: 'POST', headers: { 'idempotency-key': 'again-9' } };
    expect((await problemOf(await server.call(path, init, 'eve'))).status).toBe(404);
  });

  test('stands in the contract with its key', async () => {
    const document = (await (await server.call('/openapi.json')).json()) as {
      paths: Record<string, { post: { operationId: string; parameters: { name: string }[] } }>;
    };
    const operation = document.paths['/v1/sagas/{id}/rerun']?.post;
    expect(operation?.operationId).toBe('rerunSaga');
    expect(operation?.parameters.map(({ name }) => name)).toEqual(['id', 'Idempotency-Key']);
  });
});

describe('counterstep rerun', () => {
  test('waits for the new saga, and says so where it was run again before', async () => {
    const old = await failed('k-3');
    shut = false;
    const ran = await run('rerun', old.id, '--key', 'again-3', '--wait', '--json');
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(JSON.parse(ran.out)).toMatchObject({ state: 'completed', previous: old.id });
    const again = await run('rerun', old.id, '--key', 'again-3', '--wait');
    expect(again.err).toContain('started before');
    const other = await run('rerun', old.id, '--key', 'again-4');
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('run that one again')]);
  });

  test('shows the checkpoint and both links to a person', async () => {
    const old = await failed('k-5');
    const ran = await run('rerun', old.id, '--key', 'again-5', '--wait', '--table');
    expect(ran.code).toBe(2);
    expect(ran.out).toMatch(/^state {7}compensated to checkpoint hold\n/);
    expect(ran.out).toContain(`previous    ${old.id}`);
    const status = await run('status', old.id, '--table');
    expect(status.out).toMatch(/run again {3}as [0-9a-f]{32}/);
    const standing = await run('standing', old.id, '--table');
    expect(standing.out).toContain('compensated to checkpoint hold: kept: hold');
  });
});
