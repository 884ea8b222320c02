import { describe, expect, it } from 'vitest';
import {
  type ChainedRecord,
  genesisHash,
  openRecord,
  sealEvent,
} from '../../../statemachines/ledger/chain.ts';
import { sha256Hex } from '../../../statemachines/ledger/hash.ts';
import { verifyChain } from '../../../statemachines/ledger/verify.ts';
import { LEDGER, sagaChain, sagaEvents, seal } from './chain-fixture.ts';

const genesis = genesisHash(LEDGER.tenant, LEDGER.sagaId);
/** A record whose hash fits, whatever its body is. */
const forge = (seq: number, prev: string, body: string): ChainedRecord => ({
  seq,
  body,
  prev,
  hash: sha256Hex(prev, body),
});
const at = <T>(list: readonly T[], index: number): T => {
  const item = list.at(index);
  if (item === undefined) throw new Error(`nothing at ${index}`);
  return item;
};

describe('sealEvent', () => {
  it('seals the canonical text of the event with the hash before', () => {
    const event = at(sagaEvents(1), 0);
    const record = sealEvent(genesis, event);
    expect(record.body).toBe(
      '{"actor":"drive","at":1700000000001,"drive":"running","epoch":1,"reason":"reason 1","seq":1,"state":"completed","type":"cancel_requested"}',
    );
    expect(record).toEqual(forge(1, genesis, record.body));
    expect(openRecord(record)).toEqual(event);
  });

  it('refuses what the ledger may not keep', () => {
    expect(() => sealEvent(genesis, { seq: 1, big: 1n } as never)).toThrow('/big');
  });

  it('begins each ledger with its own hash', () => {
    expect(genesis).toBe(sha256Hex('counterstep-ledger:acme/saga-17'));
    expect(genesisHash('a', 'b/c')).not.toBe(genesisHash('ab', 'c'));
    expect(() => genesisHash('a/b', 'c')).toThrow('tenant');
    expect(() => genesisHash('', 'c')).toThrow('tenant');
    expect(() => genesisHash('a', '\ud800')).toThrow('surrogate');
  });
});

describe('openRecord', () => {
  it.each([
    ['no JSON', '{', 'not JSON'],
    ['no event', '[1]', 'not an event'],
    ['another number', '{"seq":2}', 'number 2'],
  ])('refuses a body that is %s', (_what, body, message) => {
    expect(() => openRecord(forge(1, genesis, body))).toThrow(message);
    expect(() => openRecord(forge(1, genesis, body))).toThrow(
      expect.objectContaining({ name: 'Counterstep.LedgerDamaged', seq: 1 }),
    );
  });
});

describe('verifyChain', () => {
  const chain = sagaChain(5);
  const head = at(chain, -1);

  it('names the head it reached and what it was held against', () => {
    const anchor = { name: 'signed head', exists: true, seq: 3, hash: at(chain, 2).hash } as const;
    const registry = { name: 'registry', registered: false } as const;
    expect(verifyChain(LEDGER, chain, [anchor, registry])).toEqual({
      kind: 'valid',
      seq: 5,
      hash: head.hash,
      events: 5,
      checkedAgainst: ['signed head', 'registry'],
    });
  });

  it('accepts a stream, and closes it when it stops early', () => {
    let closed = false;
    function* stream() {
      try {
        yield at(chain, 0);
        yield at(chain, 0);
        yield at(chain, 1);
      } finally {
        closed = true;
      }
    }
    expect(verifyChain(LEDGER, stream())).toMatchObject({ problem: 'duplicate', seq: 1 });
    expect(closed).toBe(true);
  });

  it('verifies ledgers that are not a saga’s', () => {
    const tickets = [
      { seq: 1, at: 5, saga: 'a' },
      { seq: 2, at: 5, saga: 'b' },
    ];
    expect(verifyChain(LEDGER, seal(LEDGER, tickets))).toMatchObject({ kind: 'valid', seq: 2 });
  });

  const forged = (body: string) => [...chain, forge(6, head.hash, body)];
  const other = { tenant: 'acme', sagaId: 'saga-18' };
  const rewritten = seal(
    LEDGER,
    sagaEvents(5).map((event) => ({ ...event, actor: 'mallory' })),
  );
  const swapped = [0, 2, 1, 3, 4].map((index) => at(chain, index));

  it.each<[string, readonly ChainedRecord[], string, number]>([
    ['a changed body', chain.map((r) => (r.seq === 3 ? { ...r, body: '{}' } : r)), 'changed', 3],
    [
      'a changed body under a new hash',
      chain.map((r) => (r.seq === 3 ? forge(3, r.prev, r.body.replace('drive', 'drove')) : r)),
      'changed',
      4,
    ],
    ['a missing record', chain.filter((r) => r.seq !== 2), 'gap', 2],
    ['a missing beginning', chain.slice(2), 'gap', 1],
    ['swapped records', swapped, 'reordered', 2],
    ['a repeated record', [...chain.slice(0, 3), at(chain, 2), ...chain.slice(3)], 'duplicate', 3],
    ['no number', [{ ...at(chain, 0), seq: Number.NaN }], 'changed', Number.NaN],
    ['another saga’s chain', seal(other, sagaEvents(5)), 'wrong_genesis', 1],
    ['a body that is no JSON', forged('{"seq":6'), 'not_json', 6],
    ['a duplicate member', forged('{"at":1,"seq":5,"seq":6}'), 'not_canonical', 6],
    ['white space', forged('{"at":1, "seq":6}'), 'not_canonical', 6],
    ['a broken surrogate', forged('{"at":1,"s":"\\ud800","seq":6}'), 'not_canonical', 6],
    ['endless nesting', forged('['.repeat(50_000) + ']'.repeat(50_000)), 'not_canonical', 6],
    ['a body that is no event', forged('[]'), 'not_an_event', 6],
    ['an event without a time', forged('{"seq":6}'), 'not_an_event', 6],
    ['an event of another number', forged('{"at":1,"seq":7}'), 'not_an_event', 6],
    ['a time before', forged('{"at":1,"seq":6}'), 'clock_backwards', 6],
  ])('finds %s', (_what, records, problem, seq) => {
    const verdict = verifyChain(LEDGER, records);
    expect(verdict).toMatchObject({ kind: 'invalid', problem, seq });
    const verified = Number.isNaN(seq) ? 0 : seq - 1;
    if (problem !== 'duplicate' && verified > 0) {
      expect(verdict).toMatchObject({ verified: { seq: verified } });
    }
  });

  it('finds a chain that was written anew, by a hash kept elsewhere', () => {
    expect(verifyChain(LEDGER, rewritten).kind).toBe('valid');
    const anchor = { name: 'signed head', exists: true, seq: 4, hash: at(chain, 3).hash } as const;
    expect(verifyChain(LEDGER, rewritten, [anchor])).toMatchObject({
      kind: 'invalid',
      problem: 'rewritten',
      seq: 4,
      explanation: 'record 4: signed head knows another hash for it: the chain was written anew',
    });
  });

  it('holds the chain against every anchor, not the first one only', () => {
    const anchors = [
      { name: 'a', exists: true, seq: 4, hash: at(chain, 3).hash },
      { name: 'b', exists: true, seq: 4, hash: 'other' },
    ] as const;
    expect(verifyChain(LEDGER, chain, anchors)).toMatchObject({ problem: 'rewritten' });
    expect(verifyChain(LEDGER, chain, [...anchors].reverse())).toMatchObject({
      problem: 'rewritten',
    });
  });

  it('finds the cut end of a finished saga by its missing registry entry', () => {
    const registry = { name: 'registry', registered: false } as const;
    expect(verifyChain(LEDGER, chain.slice(0, 4), [registry])).toMatchObject({
      kind: 'invalid',
      problem: 'cut_tail',
      seq: 5,
    });
    const running = { name: 'registry', registered: true } as const;
    expect(verifyChain(LEDGER, chain.slice(0, 4), [running]).kind).toBe('valid');
  });
});
