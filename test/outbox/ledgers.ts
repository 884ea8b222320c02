import type { Image, StreamRecord } from '../../lambdas/outbox/stream.ts';
import type { LedgerId, LedgerRecord } from '../../lambdas/ports/ledger-store.ts';
import { genesisHash, sealEvent } from '../../statemachines/ledger/chain.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { Rules } from '../support/saga-builder.ts';

/** What becomes of a saga, by the rules themselves: every state is met in one of these. */
export const STORIES = {
  completed: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }]).done('a', 'b');
    saga.does(saga.complete());
    return saga;
  },
  undone: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }]).done('a').refused('b');
    saga.does(saga.assess());
    saga.undone('a');
    saga.does(saga.settle());
    return saga;
  },
  cancelled: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }]).done('a');
    saga.does({ kind: 'cancel', reason: 'a customer called' });
    saga.does(saga.assess());
    saga.undone('a');
    saga.does(saga.settle());
    return saga;
  },
  expired: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }], { deadlineMs: 10_000 }).done('a');
    saga.wait(20_000);
    saga.does(saga.assess());
    saga.does(saga.assess());
    saga.undone('a');
    saga.does(saga.settle());
    return saga;
  },
  'undo failed': () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }]).done('a').refused('b');
    saga.does(saga.assess());
    saga.does(saga.claim('a', 'compensate'));
    saga.does(saga.fail('a', 'terminal_compensate', 'compensate'));
    saga.does(saga.settle());
    return saga;
  },
  reviewed: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b', dedupe: 'none' }]).done('a').lost('b');
    saga.does(saga.assess());
    saga.actor = 'ada@example.com';
    saga.does(
      saga.decision({
        decision: 'answer',
        step: 'b',
        action: 'forward',
        answer: 'committed',
        evidence: 'seen in the other system by ada@example.com',
        externalIds: { b: 'B-1' },
        result: { kind: 'inline', value: { id: 'b' } },
        undo: { kind: 'inline', value: { id: 'b' } },
      }),
    );
    saga.does(saga.complete());
    return saga;
  },
  'failed behind the pivot': () => {
    const steps = [{ name: 'a' }, { name: 'p', effect: 'irreversible' }] as const;
    const saga = new Rules([...steps, { name: 'r', effect: 'read_only' }]).done('a', 'p');
    saga.refused('r');
    saga.does(saga.assess());
    saga.does({ kind: 'mark', ...saga.drive(), step: saga.step('p'), action: 'contain' });
    saga.does(saga.settle());
    return saga;
  },
  'known late': () => {
    const saga = new Rules([{ name: 'a' }]).refused('a');
    const commit = saga.commit('a');
    saga.does(saga.assess());
    saga.does(saga.settle());
    saga.does(commit);
    return saga;
  },
} satisfies Record<string, () => Rules>;

export type Story = keyof typeof STORIES;

export const ALL_STORIES = Object.keys(STORIES) as readonly Story[];

/** The story as another saga's, from the beginning of its ledger. */
export function eventsOf(story: Story, id: LedgerId): SagaEvent[] {
  return STORIES[story]().events.map((event) =>
    event.type === 'saga_started' ? { ...event, tenant: id.tenant, sagaId: id.sagaId } : event,
  );
}

export function recordsOf(id: LedgerId, events: readonly SagaEvent[]): LedgerRecord[] {
  let prev = genesisHash(id.tenant, id.sagaId);
  return events.map((event) => {
    const record = { ...sealEvent(prev, event), nonce: `nonce-${event.seq}` };
    prev = record.hash;
    return record;
  });
}

export const ledgerOf = (story: Story, id: LedgerId) => recordsOf(id, eventsOf(story, id));

/** As DynamoDB tells of it, at a moment of its own. */
export function inserted(id: LedgerId, record: LedgerRecord, position = nextPosition()) {
  return streamed('INSERT', id, record.seq, position, { NewImage: imageOf(record) });
}

export function modified(id: LedgerId, before: LedgerRecord, after: LedgerRecord): StreamRecord {
  const images = { OldImage: imageOf(before), NewImage: imageOf(after) };
  return streamed('MODIFY', id, before.seq, nextPosition(), images);
}

export function removed(id: LedgerId, before: LedgerRecord): StreamRecord {
  return streamed('REMOVE', id, before.seq, nextPosition(), { OldImage: imageOf(before) });
}

let positions = 0;
function nextPosition(): string {
  positions += 1;
  return String(positions).padStart(21, '0');
}

function streamed(
  eventName: string,
  { tenant, sagaId }: LedgerId,
  seq: number,
  SequenceNumber: string,
  images: Pick<NonNullable<StreamRecord['dynamodb']>, 'NewImage' | 'OldImage'>,
): StreamRecord {
  const Keys = { pk: { S: `${tenant}/${sagaId}` }, sk: { N: String(seq) } };
  return {
    eventName,
    dynamodb: { SequenceNumber, ApproximateCreationDateTime: 1_700_000_000, Keys, ...images },
  };
}

function imageOf({ body, prev, hash, nonce }: LedgerRecord): Image {
  return { body: { S: body }, prev: { S: prev }, hash: { S: hash }, nonce: { S: nonce } };
}
