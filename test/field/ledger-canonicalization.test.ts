import { describe, expect, it } from 'vitest';
import { canonicalJson, type JsonValue } from '../../statemachines/ledger/canonical.ts';
import { sealEvent } from '../../statemachines/ledger/chain.ts';
import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import { parseIJson, toIJson } from '../../statemachines/ledger/ijson.ts';
import { redactText } from '../../statemachines/ledger/redact.ts';
import { type Anchor, verifyChain } from '../../statemachines/ledger/verify.ts';
import { LEDGER, sagaChain } from '../statemachines/ledger/chain-fixture.ts';

const rows = sagaChain(10);
const headHash = rows.at(-1)?.hash ?? '';
const cutRows = rows.slice(0, 8);
const projection: Anchor = { name: 'projection', exists: true, seq: 10 };
const signedHead: Anchor = { name: 'signed head', exists: true, seq: 10, hash: headHash };
const unregistered: Anchor = { name: 'registry', registered: false };
const registered: Anchor = { name: 'registry', registered: true };

describe('field: ledger and canonical form', () => {
  it.each([
    ['the projection', projection],
    ['a signed head', signedHead],
    ['the registry, which has let go of the saga', unregistered],
  ])('lg-02: rows cut off the end are found by %s', (_what, anchor) => {
    expect(verifyChain(LEDGER, rows, [anchor])).toMatchObject({ kind: 'valid', seq: 10 });
    expect(verifyChain(LEDGER, cutRows, [anchor])).toMatchObject({
      kind: 'invalid',
      problem: 'cut_tail',
      seq: 9,
      verified: { seq: 8 },
    });
  });

  it('lg-02: with all state inside restored to the old head, an anchor kept outside finds it', () => {
    const restored: Anchor = { name: 'projection', exists: true, seq: 8 };
    const inside = verifyChain(LEDGER, cutRows, [restored, registered]);
    // Nothing inside can tell; the verdict claims no more than the head and anchors it names.
    expect(inside).toMatchObject({ kind: 'valid', seq: 8 });
    expect(inside).toMatchObject({ checkedAgainst: ['projection', 'registry'] });
    expect(verifyChain(LEDGER, cutRows, [restored, registered, signedHead])).toMatchObject({
      kind: 'invalid',
      problem: 'cut_tail',
    });
  });

  it('lg-03: a ledger without rows is valid only if nobody knows of it', () => {
    for (const anchor of [projection, signedHead]) {
      const verdict = verifyChain(LEDGER, [], [unregistered, anchor]);
      expect(verdict).toMatchObject({ kind: 'invalid', problem: 'missing', seq: 1 });
    }
    expect(verifyChain(LEDGER, [], [unregistered]).kind).toBe('absent');
    // A start that died between its registry entry and event 1 never was a saga.
    expect(verifyChain(LEDGER, [], [registered]).kind).toBe('absent');
  });

  it.each([
    ['undefined in a list', { list: [1, undefined, 3] }, '/list/1'],
    ['NaN', { n: Number.NaN }, '/n'],
    ['a bigint', { big: 10n }, '/big'],
    ['a Map', { m: new Map([[1, 2]]) }, '/m'],
    ['a Set', { s: new Set() }, '/s'],
  ])('lg-05: %s is refused by its path before hashing', (_what, payload, path) => {
    const seal = () => sealEvent(headHash, { seq: 11, payload } as never);
    expect(seal).toThrow(expect.objectContaining({ path: `/payload${path}` }));
  });

  it('lg-05: an undefined member is dropped before hashing; the stored text hashes the same', () => {
    const payload = { status: 'ok', error: undefined, nested: { gone: undefined } };
    const record = sealEvent(headHash, { seq: 11, payload } as never);
    const stored = JSON.parse(JSON.stringify(record));
    const again = canonicalJson(JSON.parse(stored.body));
    expect(again).toBe('{"payload":{"nested":{},"status":"ok"},"seq":11}');
    expect(sha256Hex(stored.prev, again)).toBe(record.hash);
  });

  it.each(['\ud83d', '\ude00\ud83d'])('lg-06: the broken pair %j is refused everywhere', (text) => {
    const broken = { problem: 'lone_surrogate' };
    for (const value of [text, [text], { [text]: 1 }, { a: { b: text } }]) {
      expect(() => toIJson(value)).toThrow(expect.objectContaining(broken));
      expect(() => parseIJson(JSON.stringify(value))).toThrow(expect.objectContaining(broken));
      expect(() => canonicalJson(value as JsonValue)).toThrow();
      expect(() => sealEvent(headHash, { seq: 11, value } as never)).toThrow();
    }
  });

  it('lg-06: U+FFFD, composed and decomposed forms are kept as they are, with hashes of their own', () => {
    const texts = ['\ufffd', 'e\u0301', '\u00e9', '\ud83d\ude00'];
    for (const text of texts) {
      expect(toIJson(text)).toBe(text);
      expect(parseIJson(JSON.stringify({ [text]: text }))).toEqual({ [text]: text });
    }
    const hashes = new Set(texts.map((text) => sha256Hex(canonicalJson(toIJson(text)))));
    expect(hashes.size).toBe(texts.length);
  });

  it.each([
    ['-0', '0'],
    ['0', '0'],
    ['1.0', '1'],
    ['1e21', '1e+21'],
    ['1e-7', '1e-7'],
    ['0.30000000000000004', '0.30000000000000004'],
    ['5e-324', '5e-324'],
  ])('lg-08: %s has one text, %s, before and after storing', (written, text) => {
    const fromText = canonicalJson(parseIJson(written));
    expect(fromText).toBe(text);
    expect(canonicalJson(toIJson(Number(written)))).toBe(text);
    expect(canonicalJson(parseIJson(fromText))).toBe(text);
    const events = [{ seq: 1, at: 1, amount: Number(written) }];
    const record = sealEvent(headHash, events[0] ?? { seq: 0 });
    expect(record.body).toContain(`"amount":${text},`);
    expect(canonicalJson(JSON.parse(record.body))).toBe(record.body);
  });

  it.each(['9007199254740993', '9007199254740993.0', '1e17', '1e400', '-1e400'])(
    'lg-08: %s is refused with a hint to use a string',
    (written) => {
      expect(() => parseIJson(`{"amount":${written}}`)).toThrow(
        expect.objectContaining({ path: '/amount', remedy: 'send it as a string' }),
      );
      expect(() => toIJson({ amount: Number(written) })).toThrow(
        expect.objectContaining({ path: '/amount', remedy: 'send it as a string' }),
      );
      expect(parseIJson(`{"amount":"${written}"}`)).toEqual({ amount: written });
    },
  );

  it.each([
    ['{"amount":"40.00","amount":"4000.00"}', '/amount'],
    ['{"amount":"40.00","\\u0061mount":"4000.00"}', '/amount'],
    ['{"order":[{"amount":"40.00","x":1,"amount":"40.00"}]}', '/order/0/amount'],
  ])('lg-09: the body %s is refused before anything is computed from it', (body, path) => {
    expect(() => parseIJson(new TextEncoder().encode(body))).toThrow(
      expect.objectContaining({ problem: 'duplicate_member', path }),
    );
  });

  it('lg-11: rows appended after the cut do not hide it', () => {
    const regrown = [...cutRows];
    for (let seq = 9; seq <= 12; seq++) {
      const prev = regrown.at(-1)?.hash ?? '';
      const event = { seq, at: 1_700_000_000_100 + seq, state: 'completed', note: 'after restart' };
      regrown.push(sealEvent(prev, event));
      // Regrown past the old head the number no longer tells, its hash still does.
      const problem = seq < 10 ? 'cut_tail' : 'rewritten';
      const verdict = verifyChain(LEDGER, regrown, [signedHead]);
      expect(verdict).toMatchObject({ kind: 'invalid', problem, seq: 10 });
    }
  });

  it('lg-12: an error text loses the token, the card number and the address', () => {
    const token = 'tok_9f8e7d6c5b4a';
    const message = `charge of 4111 1111 1111 1111 for jane@example.org refused: ${token} expired (Authorization: Bearer ${token})`;
    const masked = redactText(message, { secrets: [token] });
    expect(masked).toBe('charge of *** for *** refused: *** expired (Authorization: ***');
  });

  it('lg-14: what the client does with undefined cannot matter, since none reaches it', () => {
    const top = { seq: 11, type: 'x', gone: undefined };
    const nested = { seq: 11, type: 'x', part: { a: 1, gone: undefined } };
    expect(sealEvent(headHash, top)).toEqual(sealEvent(headHash, { seq: 11, type: 'x' } as never));
    expect(sealEvent(headHash, nested).body).toBe('{"part":{"a":1},"seq":11,"type":"x"}');
    for (const record of [sealEvent(headHash, top), sealEvent(headHash, nested)]) {
      expect(Object.values(record).every((part) => part !== undefined)).toBe(true);
    }
    const inArray = { seq: 11, list: [undefined] };
    expect(() => sealEvent(headHash, inArray)).toThrow('/list/0');
  });

  it.each(['9007199254740993', '1.23e40', '0.1234567890123456789012345678901234567890'])(
    'li-06: the amount %s is refused as a number and whole as a string',
    (amount) => {
      const refused = expect.objectContaining({ path: '/amount', remedy: 'send it as a string' });
      expect(() => parseIJson(`{"amount":${amount}}`)).toThrow(refused);
      const text = canonicalJson(parseIJson(`{"amount":"${amount}"}`));
      expect(text).toBe(`{"amount":"${amount}"}`);
      const record = sealEvent(headHash, { seq: 11, amount } as never);
      expect(JSON.parse(record.body).amount).toBe(amount);
    },
  );

  it('li-06: 1e-130 is a double like any other, and keeps its digits in the ledger’s text', () => {
    expect(canonicalJson(parseIJson('{"amount":1e-130}'))).toBe('{"amount":1e-130}');
  });
});
