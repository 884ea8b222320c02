import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  ReviewView,
  SagaPageView,
  SagaView,
  VerificationView,
} from '../../lambdas/service/wire.ts';
import { sagaGraph } from '../../statemachines/plan/mermaid.ts';
import { openServer, type Server } from '../api/server.ts';
import { everyone, Live } from '../service/live.ts';
import { order, orderInput } from '../service/sagas.ts';
import {
  bundle,
  type Environment,
  type RunOptions,
  root,
  runProgram,
  spawnProgram,
} from './program.ts';

let live: Live;
let server: Server;
let folder: string;
let program: string;

beforeAll(async () => {
  live = await Live.open();
  server = await openServer(live.service, { ada: everyone });
  folder = mkdtempSync(join(tmpdir(), 'counterstep-cli-'));
  program = await bundle(join(folder, 'program'));
});
afterAll(async () => {
  await server.close();
  await live.close();
  rmSync(folder, { recursive: true });
});

const processOf = (args: readonly string[], env: Environment = {}): ChildProcess =>
  spawnProgram(args, server, env);

const run = (args: readonly string[], options: RunOptions & { readonly by?: string } = {}) =>
  runProgram([options.by ?? program, ...args], server, options);

const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const started = (key: string): Promise<SagaView> =>
  live.service.start(everyone, 'order', key, JSON.stringify(orderInput));

describe('start', () => {
  test('waits, prints JSON where nobody watches, and says completed by its exit code', async () => {
    const input = file('input.json', JSON.stringify(orderInput));
    const ran = await run(['start', 'order', '--input', input, '--key', 'cli-1', '--wait']);
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(JSON.parse(ran.out)).toMatchObject({ name: 'order', state: 'completed' });

    const again = await run([
      'start',
      'order',
      '--input',
      input,
      '--key',
      'cli-1',
      '--wait',
      '--table',
    ]);
    expect(again.code).toBe(0);
    expect(again.err).toContain('nothing new was started');
    expect(again.out).toMatch(/^state +completed\n/);
    expect(again.out).toMatch(
      /\nhold +hold-stock +reversible +done +1 +not_required +hold=H-A-1\n/,
    );
  });

  test('tells a person what happens while it waits', async () => {
    const input = file('input.json', JSON.stringify(orderInput));
    const slow = await live.slow('cli-slow');
    live.outside.charge = 'refused';
    const args = ['start', 'order', '-i', input, '-k', 'cli-slow', '--wait', '--table'];
    const child = processOf([program, ...args]);
    const lines: string[] = [];
    const heard = createInterface({ input: child.stderr as Readable });
    heard.on('line', (line) => {
      lines.push(line);
      // Said once the saga was seen as it was: what happens from now on is to be told.
      if (line.includes('nothing new was started')) live.release();
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    live.outside.charge = 'works';
    expect(code).toBe(2);
    expect(lines).toContain('hold: done');
    expect(lines).toContain('charge: failed terminal, card_declined: the card was declined');
    expect(lines).toContain('undo of hold: done');
    expect(lines.at(-1)).toBe('compensated (charge, card_declined)');
    expect((await live.service.get(everyone, slow.id)).state).toBe('compensated');
  });

  test('makes a key up where none is given, and says to reuse it', async () => {
    const ran = await run(['start', 'order', '-i', '-'], { stdin: JSON.stringify(orderInput) });
    expect(ran.code).toBe(0);
    const key = /^key ([0-9a-f-]{36}) \(to repeat this start, reuse it: --key \1\)\n$/.exec(
      ran.err,
    )?.[1];
    const saga = JSON.parse(ran.out) as SagaView;
    expect((await live.service.start(everyone, 'order', key, JSON.stringify(orderInput))).id).toBe(
      saga.id,
    );
  });

  test('says what is wrong in one line and what to do in the next', async () => {
    const bad = file('bad.json', '{"orderId":"A","orderId":"B"}');
    const [duplicate, absent, nowhere, unknown] = await Promise.all([
      run(['start', 'order', '-i', bad, '-k', 'x']),
      run(['start', 'order', '-i', join(folder, 'none.json'), '-k', 'x']),
      run(['start', 'order', '-i', bad, '-k', 'x', '--endpoint', 'http://127.0.0.1:1']),
      run(['start', 'ordre', '-i', file('good.json', JSON.stringify(orderInput)), '-k', 'x']),
    ]);
    expect(duplicate).toMatchObject({ code: 1, out: '' });
    expect(duplicate.err).toMatch(/^error: .*duplicate_member.* \(at \/orderId\)\n {2}\S.*\n$/);
    expect(absent.err).toMatch(/^error: .*none\.json cannot be read \(ENOENT\)\n {2}\S.*\n$/);
    expect(nowhere).toMatchObject({ code: 1 });
    expect(nowhere.err).toMatch(
      /^error: .* cannot be reached.*\n.*counterstep dev.*--endpoint.*\n$/,
    );
    expect(unknown.err).toMatch(
      /^error: there is no saga definition of this name.*\n {2}GET \/v1\/definitions/,
    );
  });
});

describe('the exit code of a saga', () => {
  test('tells compensated, needs review, incident and still running apart', async () => {
    live.outside.charge = 'refused';
    const compensated = await started('exit-compensated');
    await live.until(everyone, compensated.id, 'compensated');
    live.outside.charge = 'unknown';
    const held = await started('exit-held');
    await live.until(everyone, held.id, 'needs_review');
    live.outside.charge = 'works';
    const incident = await live.incident('exit-incident');

    const [two, three, four, waiting, none] = await Promise.all([
      run(['status', compensated.id]),
      run(['status', held.id, '--table']),
      run(['status', incident.id]),
      run([
        'start',
        'order',
        '-i',
        file('held.json', JSON.stringify(orderInput)),
        '-k',
        'exit-held',
        '-w',
      ]),
      run(['status', 'nope']),
    ]);
    expect([two.code, three.code, four.code, waiting.code, none.code]).toEqual([2, 3, 4, 3, 1]);
    expect(three.out).toMatch(/\ncharge +charge-card +reversible_with_cost +in_doubt +1 /);
    expect(three.out).toMatch(/\ncharge: lost: the connection was lost\n/);
    expect(three.out).toMatch(/review +[0-9a-f]{32}\.\d+: nobody can say/);

    const slow = await live.slow('exit-slow');
    const running = await run([
      'start',
      'order',
      '-i',
      join(folder, 'held.json'),
      '-k',
      'exit-slow',
      '-w',
      '--timeout',
      '50ms',
    ]);
    expect(running.code).toBe(5);
    expect(running.err).toContain(`ask again with: counterstep status ${slow.id}`);
    live.release();
  });
});

describe('the ledger', () => {
  test('is printed, exported, and verified with nothing else at hand', async () => {
    const saga = await started('ledger');
    await live.until(everyone, saga.id, 'completed');
    const [table, exported, remote, standing] = await Promise.all([
      run(['ledger', saga.id, '--table']),
      run(['ledger', saga.id, '--ndjson']),
      run(['verify', saga.id]),
      run(['standing', saga.id, '--table']),
    ]);
    expect(table.out).toMatch(/^SEQ +AT +EVENT.*\n1 +\d{4}-\d\d-\d\d .*saga_started/);
    expect(remote.code).toBe(0);
    expect(JSON.parse(remote.out)).toMatchObject({
      verdict: 'valid',
      checkedAgainst: ['projection'],
    });
    expect(standing.out).toMatch(/^completed: .*\n\nSTEP .*\nhold +reversible +stands/);

    const path = file('ledger.ndjson', exported.out);
    const cut = file('cut.ndjson', exported.out.split('\n').slice(0, -2).join('\n'));
    const alone = { env: { COUNTERSTEP_ENDPOINT: 'http://127.0.0.1:1' } };
    const [whole, piped, broken, absent] = await Promise.all([
      run(['verify', path], alone),
      run(['verify', '-'], { ...alone, stdin: readFileSync(path, 'utf8').replace('A-1', 'A-2') }),
      run(['verify', cut], alone),
      run(['verify', join(folder, 'none.ndjson')], alone),
    ]);
    expect(whole.code).toBe(0);
    const { head } = JSON.parse(remote.out) as VerificationView;
    expect(JSON.parse(whole.out)).toMatchObject({ sagaId: saga.id, verdict: 'valid', head });
    expect([piped.code, JSON.parse(piped.out)]).toEqual([
      1,
      expect.objectContaining({ problem: 'changed' }),
    ]);
    expect([broken.code, JSON.parse(broken.out)]).toEqual([
      1,
      expect.objectContaining({ problem: 'cut_tail' }),
    ]);
    expect(broken.err).toMatch(/^the ledger does not verify: /);
    const shown = await run(['verify', cut, '--table'], alone);
    expect(shown.out).toMatch(/held against +export header\n/);
    expect(absent.err).toMatch(/^error: there is no file/);
  });
});

describe('review', () => {
  test('lists, shows and decides', async () => {
    live.outside.charge = 'unknown';
    const saga = await started('review');
    const held = await live.until(everyone, saga.id, 'needs_review');
    live.outside.charge = 'works';
    const id = held.review?.id ?? '';
    const [listed, shown, two, early] = await Promise.all([
      run(['review', '--table']),
      run(['review', id]),
      run(['review', 'decide', id, '--retry', '--recover']),
      run(['review', 'decide', id, '--approve', '--max-cost', '500']),
    ]);
    expect(listed.out).toContain(id);
    expect(JSON.parse(shown.out) as ReviewView).toMatchObject({
      id,
      reason: 'unknown_outcome',
      decisions: expect.arrayContaining(['answer']),
    });
    expect([two.code, two.err]).toEqual([
      1,
      expect.stringMatching(/^error: 2 decisions are given\n/),
    ]);
    expect(early.err).toMatch(/^error: --max-cost has no currency/);
    const [planless, stepless, priced] = await Promise.all([
      run(['review', 'decide', id, '--approve', '--max-cost', '500', '--currency', 'EUR']),
      run(['review', 'decide', id, '--answer', 'absent', '--evidence', 'seen']),
      run([
        ...['review', 'decide', id, '--approve', '--plan-hash', 'x'],
        ...['--max-cost', '500', '--currency', 'euro'],
      ]),
    ]);
    expect(planless.err).toBe(
      'error: --approve needs --plan-hash\n  send --plan-hash, --max-cost\n',
    );
    expect(stepless.err).toMatch(/^error: --answer needs --step\n/);
    expect(priced.err).toMatch(/does not fit its schema \(--currency: invalid_format\)\n/);

    const table = await run(['review', 'show', id, '--table']);
    expect(table.out).toContain(
      [
        `decide with: counterstep review decide ${id}, and one of`,
        '  --retry',
        '  --recover',
        '  --answer committed --step charge --result <file> --evidence <text>',
        '  --answer absent --step charge --evidence <text>',
      ].join('\n'),
    );
    const seen = ['--step', 'charge', '--evidence', 'seen'];
    const resultless = await run(['review', 'decide', id, '--answer', 'committed', ...seen]);
    expect(resultless.err).toMatch(
      /^error: "committed" needs --result: what tool "charge-card" would have answered\n {2}send --result/,
    );

    const result = file('result.json', '{"chargeId":"C-9"}');
    const decided = await run([
      'review',
      'decide',
      id,
      '--answer',
      'committed',
      '--step',
      'charge',
      '--result',
      result,
      '--evidence',
      'seen at the provider',
    ]);
    expect([decided.code, decided.err]).toEqual([0, '']);
    const end = await live.until(everyone, saga.id, 'completed');
    expect(end.steps[1]?.forward.externalIds).toEqual({ charge: 'C-9' });
    expect((await run(['review', 'show', id, '--table'])).out).toMatch(/decided +answer by ada/);
  });
});

describe('the other commands', () => {
  test('list, cancel and resume', async () => {
    live.outside.charge = 'unknown';
    const saga = await started('others');
    await live.until(everyone, saga.id, 'needs_review');
    live.outside.charge = 'works';
    const [listed, wrong, noReason] = await Promise.all([
      run(['list', '--state', 'needs_review', '--name', 'order']),
      run(['list', '--state', 'nope']),
      run(['cancel', saga.id]),
    ]);
    const page = JSON.parse(listed.out) as SagaPageView;
    expect(page.sagas.map((each) => each.id)).toContain(saga.id);
    expect(wrong.err).toMatch(
      /^error: there is no such state \(at state\)\n {2}use queued, running/,
    );
    expect(noReason).toMatchObject({ code: 1, err: expect.stringContaining('--reason') });

    const resumed = await run(['resume', saga.id, '--latest', '--note', 'asked the provider']);
    expect(resumed.code).toBe(0);
    const cancelled = await run(['cancel', saga.id, '--reason', 'not wanted', '--table']);
    expect(cancelled.code).toBe(0);
    expect(cancelled.out).toMatch(/stopped by +cancelled/);
  });

  test('tools and graph, from the endpoint', async () => {
    const [tools, table, graph, none] = await Promise.all([
      run(['tools']),
      run(['tools', '--table']),
      run(['graph', 'order']),
      run(['graph', 'nope']),
    ]);
    expect(JSON.parse(tools.out)).toMatchObject({ tools: [{ name: 'charge-card' }, {}, {}] });
    expect(table.out).toMatch(
      /\nhold-stock +1 +reversible +forward key, compensate key +Holds items/,
    );
    expect(graph.out).toMatch(/^flowchart TD\n/);
    expect(none.code).toBe(1);
  });

  test('the launcher runs the same program, with its exit codes', async () => {
    const by = 'bin/counterstep.js';
    const [version, wrong] = await Promise.all([
      run(['--version'], { by }),
      run(['dance'], { by }),
    ]);
    const { version: packaged } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect([version.code, version.out]).toEqual([0, `${packaged}\n`]);
    expect(wrong.code).toBe(1);
    expect(wrong.err).toMatch(/unknown command/);
  });
});

describe('dev', () => {
  test('serves a configuration until it is stopped, and its sagas are there the next time', async () => {
    const config = 'test/cli/dev.config.ts';
    const args = ['bin/counterstep.js', 'dev', '-c', config, '-p', '0', '-d', join(folder, 'data')];
    const input = file('dev.json', JSON.stringify(orderInput));
    let id = '';
    for (const expected of [undefined, true]) {
      const plane = processOf(args);
      const closed = new Promise<number | null>((resolve) => plane.on('close', resolve));
      const env = { COUNTERSTEP_ENDPOINT: await urlIn(plane) };
      const ran = await run(['start', 'order', '-i', input, '-k', 'dev', '-w'], { env });
      const saga = JSON.parse(ran.out) as SagaView;
      expect([ran.code, saga.state, saga.replayed]).toEqual([0, 'completed', expected]);
      expect(id === '' || id === saga.id).toBe(true);
      id = saga.id;
      plane.kill('SIGTERM');
      expect(await closed).toBe(0);
    }
    const drawn = await run(['graph', 'order', '--config', config], { by: 'bin/counterstep.js' });
    expect([drawn.code, drawn.out]).toEqual([0, sagaGraph(order.plan)]);
  });

  test('says what is wrong with its configuration', async () => {
    const ran = await run(['dev', '--config', join(folder, 'none.ts')], {
      by: 'bin/counterstep.js',
    });
    expect([ran.code, ran.err]).toEqual([
      1,
      expect.stringMatching(/^error: no configuration at .*defineConfig/),
    ]);
  });
});

/** What the plane says it listens on. */
function urlIn(plane: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    plane.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const url = /listening on (\S+)/.exec(said)?.[1];
      if (url !== undefined) resolve(url);
    });
    plane.on('close', () => reject(new Error(`the plane ended: ${said}`)));
  });
}
