import { canonicalJson, type JsonValue } from '../../statemachines/ledger/canonical.ts';
import {
  type Breaker,
  type BreakerEvent,
  evolveBreaker,
  FRESH_BREAKER,
} from '../../statemachines/rules/breaker.ts';
import type { BreakerLedger, BreakerRecord } from '../ports/breaker-ledger.ts';

/** The event as a breaker's ledger keeps it. */
export function sealBreaker(event: BreakerEvent, nonce: string): BreakerRecord {
  // Every member is JSON; the interface only lacks an index signature.
  return { seq: event.seq, body: canonicalJson(event as unknown as JsonValue), nonce };
}

/** A tool's breaker as it stands. @throws StoreUnavailable */
export async function readBreaker(breakers: BreakerLedger, tool: string): Promise<Breaker> {
  const record = await breakers.head(tool);
  if (record === undefined) return FRESH_BREAKER;
  return evolveBreaker(FRESH_BREAKER, JSON.parse(record.body) as BreakerEvent);
}
