import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportLedger, readExport, verifyExport } from '../../../statemachines/ledger/ndjson.ts';
import { LEDGER, sagaChain, sagaEvents, seal } from './chain-fixture.ts';

const chain = sagaChain(4);
const lines = [...exportLedger(LEDGER, chain)];
const text = lines.join('');
const head = chain.at(-1)?.hash;

describe('exportLedger', () => {
  it('writes a header, then one line a record', () => {
    expect(lines[0]).toBe(
      `{"format":"counterstep-ledger","head":{"hash":"${head}","seq":4},"protocol":1,"sagaId":"saga-17","tenant":"acme"}\n`,
    );
    expect(lines.slice(1).map((line) => JSON.parse(line))).toEqual(chain);
  });

  it('leaves out everything that is not chained, such as the writer’s nonce', () => {
    const stored = chain.map((record) => ({ ...record, nonce: 'n' }));
    expect([...exportLedger(LEDGER, stored)].join('')).toBe(text);
  });

  it('writes a stream as it comes; the header then names no head', () => {
    const streamed = [...exportLedger(LEDGER, chain.values())];
    expect(streamed[0]).not.toContain('head');
    expect(streamed.slice(1)).toEqual(lines.slice(1));
    expect(verifyExport(streamed)).toMatchObject({ kind: 'valid', checkedAgainst: [] });
  });

  it('writes a header also where there are no records', () => {
    const empty = [...exportLedger(LEDGER, [])];
    expect(empty).toHaveLength(1);
    expect(verifyExport(empty)).toEqual({ kind: 'absent', checkedAgainst: [] });
  });
});

describe('readExport', () => {
  it('gives back the header and the records, with any line ends', () => {
    for (const source of [text, lines, text.replaceAll('\n', '\r\n'), text.split('\n')]) {
      const { header, records } = readExport(source);
      expect(header).toMatchObject({ ...LEDGER, protocol: 1, head: { seq: 4, hash: head } });
      expect([...records]).toEqual(chain);
    }
  });

  it('keeps line separators of Unicode inside a line', () => {
    const events = sagaEvents(2).map((event) => ({ ...event, reason: 'a\u2028b\u0085c' }));
    const records = seal(LEDGER, events);
    expect(verifyExport([...exportLedger(LEDGER, records)].join('')).kind).toBe('valid');
  });

  const record = lines[1] ?? '';
  const header = lines[0] ?? '';
  it.each([
    ['an empty file', [], 1],
    ['a file without header', [record], 1],
    ['a newer protocol', [header.replace('"protocol":1', '"protocol":2')], 1],
    ['a header without tenant', [header.replace(',"tenant":"acme"', '')], 1],
    ['a header with more', [header.replace('{', '{"signed":true,')], 1],
    ['half a line', [header, record, record.slice(0, 30)], 3],
    ['a line that is no object', [header, '[]'], 2],
    ['a record without hash', [header, '{"seq":1,"body":"{}","prev":""}'], 2],
    ['a record with a member twice', [header, record.replace('{', '{"seq":1,')], 2],
    ['a record with more', [header, '', record.replace('{', '{"note":1,')], 3],
  ])('refuses %s, naming the line', (_what, source, line) => {
    const read = () => [...readExport(source).records];
    expect(read).toThrow(expect.objectContaining({ name: 'Counterstep.ExportError', line }));
    expect(read).toThrow(`line ${line}:`);
    expect(verifyExport(source)).toMatchObject({ kind: 'invalid', problem: 'unreadable' });
  });
});

/** Each file, and whether it verifies. */
const FILES: readonly (readonly [string, string, boolean])[] = [
  ['the export', text, true],
  ['an export without the head', [...exportLedger(LEDGER, chain.values())].join(''), true],
  ['another tenant', text.replace('acme', 'evil'), false],
  ['another saga', text.replace('saga-17', 'saga-18'), false],
  ['a changed event', text.replace('reason 3', 'reason 8'), false],
  ['a file that was cut short', lines.slice(0, -1).join(''), false],
  ['a dropped record', lines.filter((_, line) => line !== 2).join(''), false],
  ['swapped records', [0, 1, 3, 2, 4].map((line) => lines[line]).join(''), false],
  ['a repeated record', [...lines, lines[4]].join(''), false],
];

describe('verifyExport', () => {
  it.each(FILES)('judges %s', (_what, file, valid) => {
    expect(verifyExport(file).kind).toBe(valid ? 'valid' : 'invalid');
  });

  it('takes further anchors', () => {
    const anchor = { name: 'projection', exists: true, seq: 5 } as const;
    expect(verifyExport(text, [anchor])).toMatchObject({ kind: 'invalid', problem: 'cut_tail' });
  });
});

const python = spawnSync('python3', ['--version']);
if (python.status !== 0) console.log('docs/verify.py is not tested: no python3 on the path');

describe.skipIf(python.status !== 0)('docs/verify.py', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'counterstep-export-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(FILES)('comes to the same verdict on %s', (_what, file, valid) => {
    const path = join(folder, 'ledger.ndjson');
    writeFileSync(path, file);
    const script = fileURLToPath(new URL('../../../docs/verify.py', import.meta.url));
    const run = spawnSync('python3', [script, path], { encoding: 'utf8' });
    const said = valid ? `valid up to record 4, hash ${head}` : 'invalid';
    expect(run.stdout + run.stderr).toMatch(new RegExp(`^${said}`));
    expect(run.status).toBe(valid ? 0 : 1);
  });

  it.each([
    ['an empty file', '', /is empty/],
    ['no header', lines.slice(1).join(''), /not the header/],
    ['a header alone', lines[0] ?? '', /no record/],
    ['a list', '[1]\n', /not what an export/],
    ['text', 'no JSON at all\n', /not what an export/],
    ['bytes', Buffer.from([0xff, 0xfe, 0x00]), /not what an export/],
    ['a record without members', `${lines[0]}{}\n`, /not what an export/],
    ['a header without members', '{"format":"counterstep-ledger"}\n', /not what an export/],
  ])('says in a line what is wrong with %s', (_what, file, words) => {
    const path = join(folder, 'odd.ndjson');
    writeFileSync(path, file);
    const script = fileURLToPath(new URL('../../../docs/verify.py', import.meta.url));
    const run = spawnSync('python3', [script, path], { encoding: 'utf8' });
    expect([run.status, run.stdout]).toEqual([1, '']);
    expect(run.stderr).toMatch(/^invalid: .*\n$/);
    expect(run.stderr).toMatch(words);
  });
});
