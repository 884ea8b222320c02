import {
  checkProjection,
  checkStrays,
  type ProjectedRow,
  type ProjectedSaga,
  type PublishedEvent,
} from 'counterstep/testing';
import { describe, expect, it } from 'vitest';
import { genesisHash, sealEvent } from '../../statemachines/ledger/chain.ts';

const id = { tenant: 'acme', sagaId: 's1' };

function ledger() {
  const told = [
    { type: 'saga_started', state: 'running', name: 'refund', version: '1' },
    { type: 'step_claimed', state: 'running' },
    { type: 'review_opened', state: 'needs_review', review: 'r1', reason: 'unknown_outcome' },
    { type: 'saga_completed', state: 'completed' },
  ];
  let prev = genesisHash(id.tenant, id.sagaId);
  return told.map((event, index) => {
    const seq = index + 1;
    const whole = { ...event, seq, at: 1_000 * index };
    const { body, hash } = sealEvent(prev, whole);
    const record = { seq, body, prev, hash };
    prev = hash;
    return record;
  });
}

const records = ledger();
const hashOf = (seq: number): string => records[seq - 1]?.hash ?? '';
const row: ProjectedRow = {
  ...id,
  name: 'refund',
  version: '1',
  seq: 4,
  hash: hashOf(4),
  state: 'completed',
};

function event(seq: number, transition: string, state: string, more = {}): PublishedEvent {
  const at = new Date(1_000 * (seq - 1)).toISOString();
  const common = { ...id, name: 'refund', version: '1', seq, at, state };
  return {
    type: `counterstep.saga.${transition}`,
    detail: { ...common, id: `acme/s1/${seq}`, ...more },
  };
}

const started = event(1, 'started', 'running');
const review = event(3, 'needs_review', 'needs_review', { review: 'r1' });
const completed = event(4, 'completed', 'completed');
const saga: ProjectedSaga = { id, records, row, events: [started, review, completed], upTo: 4 };

describe('what is made from a ledger', () => {
  it('agrees with it, or is behind by what was not handed over', () => {
    expect(checkProjection(saga)).toEqual([]);
    expect(checkProjection({ ...saga, events: [...saga.events, started] })).toEqual([]);
    const open = { ...row, seq: 3, hash: hashOf(3), state: 'needs_review', review: 'r1' };
    expect(checkProjection({ ...saga, row: open, events: [started, review], upTo: 3 })).toEqual([]);
    expect(checkProjection({ id, records, events: [], upTo: 0 })).toEqual([]);
  });

  const wrong: readonly [string, Partial<ProjectedSaga>, string][] = [
    ['a row behind', { row: { ...row, seq: 3 } }, '14: the row is at 3, and all up to 4'],
    ['a row ahead', { row: { ...row, seq: 5 } }, '14: the row is at 5, which the ledger'],
    [
      'another state',
      { row: { ...row, state: 'incident' } },
      '14: the row at 4 says state incident',
    ],
    ['another name', { row: { ...row, name: 'order' } }, '14: the row at 4 says name order'],
    ['another hash', { row: { ...row, hash: hashOf(3) } }, '14: the row at 4 has another hash'],
    ['a closed review', { row: { ...row, review: 'r1' } }, '14: the row at 4 says review r1'],
    ['another tenant', { row: { ...row, tenant: 'rival' } }, '8: the row is of rival/s1'],
    ['an end untold', { events: [started, review] }, '14: completed 4 was never published'],
    [
      'a question untold',
      { events: [started, completed] },
      '14: needs_review 3 was never published',
    ],
    [
      'the wrong order',
      { events: [started, completed, review] },
      '14: event 3 was first published behind event 4',
    ],
    [
      'what never was',
      { events: [...saga.events, event(2, 'compensated', 'compensated')] },
      '14: counterstep.saga.compensated 2 was published',
    ],
    [
      'another place',
      { events: [started, review, event(4, 'completed', 'completed', { id: 'acme/s1/4000' })] },
      '14: event 4 was published as acme/s1/4000',
    ],
    [
      'two contents',
      { events: [...saga.events, event(4, 'completed', 'completed', { reason: 'other' })] },
      '14: event 4 was published with two contents',
    ],
    [
      'an alarm for nothing',
      {
        events: [...saga.events, { ...completed, type: 'counterstep.ledger.tampered' }],
      },
      '11: record 4 was published as tampered with',
    ],
  ];
  it.each(wrong)('is found with %s', (_what, change, finding) => {
    expect(checkProjection({ ...saga, ...change }).join('\n')).toContain(finding);
  });

  it('is found without a row', () => {
    const { row: _row, ...rest } = saga;
    expect(checkProjection(rest)).toEqual(['14: there is no row, and all up to 4 should be known']);
  });

  it('is found where no ledger is', () => {
    expect(checkStrays([id], [row], saga.events)).toEqual([]);
    const other = { ...row, tenant: 'rival' };
    const event = { ...started, detail: { ...started.detail, tenant: 'rival' } };
    expect(checkStrays([id], [other], [event])).toEqual([
      '8: a row of rival/s1, which has no ledger',
      '8: acme/s1/1 was published of rival/s1, without a ledger',
    ]);
  });
});
