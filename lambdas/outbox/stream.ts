import type { LedgerId, LedgerRecord } from '../ports/ledger-store.ts';
import type { Tampering } from '../ports/saga-index.ts';

/** A batch as Lambda hands it over from the stream of the ledger table. */
export interface StreamBatch {
  readonly Records: readonly StreamRecord[];
}

export interface StreamRecord {
  readonly eventName?: string;
  readonly dynamodb?: {
    readonly SequenceNumber?: string;
    /** Seconds. */
    readonly ApproximateCreationDateTime?: number;
    readonly Keys?: Image;
    readonly NewImage?: Image;
    readonly OldImage?: Image;
  };
}

export type Image = Readonly<Record<string, { readonly S?: string; readonly N?: string }>>;

/** What one record of the stream says. */
export type Arrival =
  | {
      readonly kind: 'appended';
      /** The record's place in the stream; by this name Lambda is told that it failed. */
      readonly position: string;
      readonly id: LedgerId;
      readonly record: LedgerRecord;
      readonly at: number;
    }
  | {
      readonly kind: 'tampered';
      readonly position: string;
      readonly id: LedgerId;
      readonly mark: Tampering;
      /** What stood there, where the stream tells. */
      readonly hash?: string;
    }
  /** No item of a ledger. */
  | { readonly kind: 'foreign'; readonly position: string };

/** Reads one record. Nothing is thrown for what it holds: a body that cannot be read is the chain's matter. */
export function arrivalOf({ eventName, dynamodb }: StreamRecord, now: number): Arrival {
  const position = dynamodb?.SequenceNumber ?? '';
  const id = ledgerIdIn(dynamodb?.Keys?.pk?.S);
  const seq = Number(dynamodb?.Keys?.sk?.N ?? Number.NaN);
  if (id === undefined || !Number.isSafeInteger(seq) || seq < 1)
    return { kind: 'foreign', position };
  const seconds = dynamodb?.ApproximateCreationDateTime;
  const at = seconds === undefined ? now : Math.round(seconds * 1000);
  switch (eventName) {
    case 'INSERT':
      return { kind: 'appended', position, id, record: recordIn(seq, dynamodb?.NewImage), at };
    case 'MODIFY':
    case 'REMOVE': {
      const found = eventName === 'MODIFY' ? 'modified' : 'removed';
      const hash = dynamodb?.OldImage?.hash?.S;
      const known = hash === undefined ? {} : { hash };
      return { kind: 'tampered', position, id, mark: { seq, at, found }, ...known };
    }
    default:
      return { kind: 'foreign', position };
  }
}

/** An attribute that is missing reads as empty text, which fits no chain. */
function recordIn(seq: number, image: Image | undefined): LedgerRecord {
  const text = (name: string): string => image?.[name]?.S ?? '';
  return {
    seq,
    body: text('body'),
    prev: text('prev'),
    hash: text('hash'),
    nonce: text('nonce'),
  };
}

function ledgerIdIn(key: string | undefined): LedgerId | undefined {
  const end = key?.indexOf('/') ?? -1;
  if (key === undefined || end < 1 || end === key.length - 1) return undefined;
  return { tenant: key.slice(0, end), sagaId: key.slice(end + 1) };
}
