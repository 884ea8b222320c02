import { MAX_SEQ } from '../checks.ts';

/**
 * Keys order as bytes. `tenant/sagaId` holds no control character, so a zero byte ends it, no
 * ledger's keys begin another's, and `seq` in big-endian bytes orders as a number.
 */
const SEQ_BYTES = 6;
const END_OF_NAME = 0x00;
const AFTER_NAME = 0x01;

export function recordKey(ledger: string, seq: number): Buffer {
  const nameBytes = Buffer.byteLength(ledger);
  const key = Buffer.allocUnsafe(nameBytes + 1 + SEQ_BYTES);
  key.write(ledger, 0, 'utf8');
  key[nameBytes] = END_OF_NAME;
  key.writeUIntBE(seq, nameBytes + 1, SEQ_BYTES);
  return key;
}

export function seqOf(key: Buffer): number {
  return key.readUIntBE(key.length - SEQ_BYTES, SEQ_BYTES);
}

/** All keys of one ledger with `seq > afterSeq`, for a range scan. */
export function recordsAfter(ledger: string, afterSeq: number): { start: Buffer; end: Buffer } {
  const start = afterSeq >= MAX_SEQ ? afterLedger(ledger) : recordKey(ledger, afterSeq + 1);
  return { start, end: afterLedger(ledger) };
}

/** The name in a key of {@link recordKey} or {@link payloadKey}. */
export function ledgerOf(key: Buffer): string {
  return key.toString('utf8', 0, key.indexOf(END_OF_NAME));
}

/** Behind every key of that ledger, and before the next ledger's first. */
export function afterLedger(ledger: string): Buffer {
  return Buffer.from(`${ledger}${String.fromCharCode(AFTER_NAME)}`, 'utf8');
}

export function payloadKey(ledger: string, digest: string): Buffer {
  return Buffer.from(`${ledger}${String.fromCharCode(END_OF_NAME)}${digest}`, 'utf8');
}

export function payloadsOf(ledger: string): { start: Buffer; end: Buffer } {
  return { start: payloadKey(ledger, ''), end: afterLedger(ledger) };
}

export function nameKey(name: string): Buffer {
  return Buffer.from(name, 'utf8');
}

export const FIRST_KEY: Buffer = Buffer.from([END_OF_NAME]);
