import type { Cost } from '../../statemachines/rules/events.ts';
import type { BreakerRecord } from '../ports/breaker-ledger.ts';
import type { LedgerId, LedgerRecord } from '../ports/ledger-store.ts';
import { MAX_PAYLOAD_BYTES, PayloadTooLarge } from '../ports/payload-store.ts';

/**
 * The largest `tenant/sagaId`, in UTF-8 bytes. A DynamoDB sort key holds 1024, and the registry
 * puts a due time before it; all three stores keep to one limit, so that none is a surprise later.
 */
export const MAX_LEDGER_KEY_BYTES = 900;

/** The largest event body, in UTF-8 bytes: a DynamoDB item ends at 400 KB, names and chain included. */
export const MAX_BODY_BYTES = 350 * 1024;

/** The embedded store's keys hold 48 bits of `seq`; nothing ever comes near. */
export const MAX_SEQ = 2 ** 48 - 1;

/** A call that no store can carry out as asked. Nothing was written; the caller has to be mended. */
export class InvalidStoreArgument extends Error {
  override readonly name = 'Counterstep.InvalidStoreArgument';
}

/** `tenant/sagaId`, checked: the one text every store uses as the name of a ledger. */
export function ledgerKey(ledger: LedgerId): string {
  const tenant = idPart('tenant', ledger.tenant);
  const sagaId = idPart('sagaId', ledger.sagaId);
  if (tenant.includes('/')) {
    throw new InvalidStoreArgument(
      `tenant ${JSON.stringify(tenant)} holds a "/", which separates tenant and saga id: choose a tenant name without it`,
    );
  }
  const key = `${tenant}/${sagaId}`;
  if (Buffer.byteLength(key) > MAX_LEDGER_KEY_BYTES) {
    throw new InvalidStoreArgument(
      `tenant and saga id together take ${Buffer.byteLength(key)} bytes, more than ${MAX_LEDGER_KEY_BYTES}: use shorter ids, or their hash`,
    );
  }
  return key;
}

/** The inverse of {@link ledgerKey}. */
export function parseLedgerKey(key: string): LedgerId {
  const slash = key.indexOf('/');
  return { tenant: key.slice(0, slash), sagaId: key.slice(slash + 1) };
}

/**
 * The record with its five members and no other, or an error. Nothing reaches a store client that
 * the client might drop, convert or refuse by a rule of its own (`undefined`, lone surrogates).
 */
export function checkedRecord(record: LedgerRecord): LedgerRecord {
  const seq = checkedSeq('record.seq', record.seq, 1);
  const body = carriedText('record.body', record.body);
  if (bytesOver(body, MAX_BODY_BYTES)) {
    throw new InvalidStoreArgument(
      `record.body takes ${Buffer.byteLength(body)} bytes, more than ${MAX_BODY_BYTES}: move arguments and results to the payload store`,
    );
  }
  return {
    seq,
    body,
    prev: carriedText('record.prev', record.prev),
    hash: carriedText('record.hash', record.hash),
    nonce: carriedText('record.nonce', record.nonce),
  };
}

/** As {@link checkedRecord}, of a breaker's ledger. */
export function checkedBreakerRecord(record: BreakerRecord): BreakerRecord {
  return {
    seq: checkedSeq('record.seq', record.seq, 1),
    body: carriedText('record.body', record.body),
    nonce: carriedText('record.nonce', record.nonce),
  };
}

/** A tool's name, as contracts have it: it is part of a key in every store. */
export function checkedTool(tool: string): string {
  if (typeof tool === 'string' && /^[\w-]{1,80}$/.test(tool)) return tool;
  throw new InvalidStoreArgument(
    `${JSON.stringify(tool)} is no tool's name: pass 1 to 80 letters, digits, "-" and "_"`,
  );
}

export function checkedTenant(tenant: string): string {
  ledgerKey({ tenant, sagaId: '-' });
  return tenant;
}

/** What a saga reserves, or nothing where it costs nothing. */
export function checkedReserve(reserve: Cost | undefined): Cost | undefined {
  if (reserve === undefined || reserve.costMinor === 0) return undefined;
  const { costMinor, currency } = reserve;
  if (!Number.isSafeInteger(costMinor) || costMinor < 0 || !/^[A-Z]{3}$/.test(currency)) {
    throw new InvalidStoreArgument(
      `the reserve ${JSON.stringify(reserve)} is no amount: pass whole minor units and an ISO 4217 code`,
    );
  }
  return { costMinor, currency };
}

export function checkedSeq(path: string, seq: number, least: number): number {
  if (!Number.isInteger(seq) || seq < least || seq > MAX_SEQ) {
    throw new InvalidStoreArgument(
      `${path} is ${String(seq)}: pass a whole number from ${least} to ${MAX_SEQ}`,
    );
  }
  return seq;
}

/** @throws PayloadTooLarge */
export function checkedPayload(text: string): string {
  carriedText('payload', text);
  if (bytesOver(text, MAX_PAYLOAD_BYTES)) throw new PayloadTooLarge(Buffer.byteLength(text));
  return text;
}

export function checkedDigest(digest: string): string {
  if (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest)) {
    throw new InvalidStoreArgument(
      `${JSON.stringify(digest)} is no payload digest: pass the 64 hex digits that put() answered`,
    );
  }
  return digest;
}

/** Text that comes back as it went in: a string, without halves of a surrogate pair. */
export function carriedText(path: string, text: string): string {
  if (typeof text !== 'string') {
    throw new InvalidStoreArgument(`${path} is ${String(text)}: pass a string`);
  }
  if (/\p{Cs}/u.test(text)) {
    throw new InvalidStoreArgument(
      `${path} holds half of a surrogate pair, which UTF-8 cannot carry: pass well-formed text`,
    );
  }
  return text;
}

function idPart(path: string, part: string): string {
  if (carriedText(path, part) === '') {
    throw new InvalidStoreArgument(`${path} is empty: every ledger has a tenant and a saga id`);
  }
  // Control characters separate and order the embedded store's keys.
  if (/\p{Cc}/u.test(part)) {
    throw new InvalidStoreArgument(
      `${path} ${JSON.stringify(part)} holds a control character: use printable ids`,
    );
  }
  return part;
}

/** Most texts are short enough to tell without counting bytes. */
function bytesOver(text: string, limit: number): boolean {
  return text.length * 3 > limit && Buffer.byteLength(text) > limit;
}
