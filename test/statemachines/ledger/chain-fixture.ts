import fc from 'fast-check';
import type { JsonValue } from '../../../statemachines/ledger/canonical.ts';
import {
  type ChainedRecord,
  type ChainId,
  genesisHash,
  type Sequenced,
  sealEvent,
} from '../../../statemachines/ledger/chain.ts';
import type { SagaEvent, SagaStatus } from '../../../statemachines/rules/events.ts';

export const LEDGER: ChainId = { tenant: 'acme', sagaId: 'saga-17' };

export function seal(id: ChainId, events: readonly Sequenced[]): ChainedRecord[] {
  const records: ChainedRecord[] = [];
  let prev = genesisHash(id.tenant, id.sagaId);
  for (const event of events) {
    const record = sealEvent(prev, event);
    records.push(record);
    prev = record.hash;
  }
  return records;
}

/** A saga of `length` events; all but the last leave it running. */
export function sagaEvents(length: number, last: SagaStatus = 'completed'): SagaEvent[] {
  return Array.from({ length }, (_, index) => {
    const seq = index + 1;
    const state = seq === length ? last : 'running';
    const head = { seq, at: 1_700_000_000_000 + seq, actor: 'drive', state, epoch: 1 } as const;
    return { ...head, drive: 'running', type: 'cancel_requested', reason: `reason ${seq}` };
  });
}

export function sagaChain(length: number, last: SagaStatus = 'completed'): ChainedRecord[] {
  return seal(LEDGER, sagaEvents(length, last));
}

/** JSON values that the border accepts, `__proto__` members and all Unicode included. */
export const jsonValues: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => {
  const text = fc.string({ unit: 'binary', maxLength: 12 });
  const name = fc.oneof(
    text,
    fc.constantFrom('__proto__', 'constructor', 'toJSON', 'length', '', 'a/b', '~'),
  );
  const double = fc.double({ min: -1e15, max: 1e15, noNaN: true }).map((n) => (n === 0 ? 0 : n));
  const members = fc
    .uniqueArray(fc.tuple(name, tie('value')), { maxLength: 5, selector: ([key]) => key })
    .map((entries) => Object.fromEntries(entries));
  return {
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(null, true, false, 1e21, 5e-324, 1e-7),
      fc.maxSafeInteger(),
      double,
      text,
      fc.array(tie('value'), { maxLength: 5 }),
      members,
    ),
  };
}).value;
