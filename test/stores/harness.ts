import type { LedgerId, LedgerRecord } from '../../lambdas/ports/ledger-store.ts';
import type { Stores } from '../../lambdas/ports/stores.ts';

/** What a contract suite needs of the store under test. */
export interface StoreHarness {
  readonly stores: Stores;
  /** Changes one letter of the payload behind the store's back. */
  damagePayload(ledger: LedgerId, digest: string): Promise<void>;
  close(): Promise<void>;
}

export type OpenHarness = () => Promise<StoreHarness>;

/** Suites share one store; each test works in a tenant of its own. */
let tenants = 0;
export function freshTenant(): string {
  tenants += 1;
  return `tenant-${tenants}`;
}

export function freshLedger(): LedgerId {
  return { tenant: freshTenant(), sagaId: 'saga-1' };
}

export function recordAt(seq: number, changes: Partial<LedgerRecord> = {}): LedgerRecord {
  return {
    seq,
    body: `{"seq":${seq}}`,
    prev: `hash-${seq - 1}`,
    hash: `hash-${seq}`,
    nonce: `nonce-${seq}`,
    ...changes,
  };
}

/** Text that conversions like to change. */
export const AWKWARD_TEXTS: readonly string[] = [
  '',
  '{"a":"line\\nbreak and \\u0000"}',
  'raw\nline\r\nbreaks\tand\u0000zero',
  '\u2028\u2029\ufeffbyte order mark',
  '😀 👩‍👩‍👧 Ünïcödé ﷽',
  'e\u0301 is not \u00e9',
  '\ufffd replacement itself',
  '9007199254740993 1e400 -0',
  '{"__proto__":{"x":1}}',
  ' padded ',
];
