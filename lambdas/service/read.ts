import { exportLedger } from '../../statemachines/ledger/ndjson.ts';
import type { LedgerRecord } from '../ports/ledger-store.ts';
import { demand, demandReader, ledgerIdOf, loadSaga, type Parts, sagaUnknown } from './parts.ts';
import type { Principal } from './principal.ts';
import { Problem } from './problems.ts';
import { standingView, viewOf } from './view.ts';
import type { LedgerPageView, SagaView, StandingView } from './wire.ts';

/** @throws Problem @throws LedgerDamaged */
export async function getSaga(
  parts: Parts,
  principal: Principal,
  sagaId: string,
): Promise<SagaView> {
  demandReader(principal);
  const state = await loadSaga(parts, ledgerIdOf(principal, sagaId));
  return viewOf(state, parts.host.clock.now());
}

/** What stood after the failure. @throws Problem @throws LedgerDamaged */
export async function getStanding(
  parts: Parts,
  principal: Principal,
  sagaId: string,
): Promise<StandingView> {
  demandReader(principal);
  return standingView(await loadSaga(parts, ledgerIdOf(principal, sagaId)));
}

export interface LedgerQuery {
  readonly limit: number;
  readonly cursor?: string;
}

/**
 * Records in order. A damaged ledger is shown too: that is when it gets looked at.
 * @throws Problem
 */
export async function ledgerPage(
  parts: Parts,
  principal: Principal,
  sagaId: string,
  query: LedgerQuery,
): Promise<LedgerPageView> {
  demand(principal, 'auditor', 'operator');
  const id = ledgerIdOf(principal, sagaId);
  const after = query.cursor === undefined ? 0 : afterSeq(query.cursor);
  const { ledger } = parts.host.stores;
  const records = await ledger.read(id, after);
  // A cursor past the end of a ledger is an empty page; of no ledger it is nothing.
  const exists = records.length > 0 || (after > 0 && (await ledger.head(id)) !== undefined);
  if (!exists) throw sagaUnknown();
  const page = records.slice(0, query.limit);
  const last = page.at(-1);
  return {
    records: page.map(recordView),
    ...(last !== undefined && records.length > page.length ? { cursor: String(last.seq) } : {}),
  };
}

/** The whole ledger as lines that verify with nothing else at hand. @throws Problem */
export async function ledgerNdjson(
  parts: Parts,
  principal: Principal,
  sagaId: string,
): Promise<Iterable<string>> {
  demand(principal, 'auditor', 'operator');
  const id = ledgerIdOf(principal, sagaId);
  const records = await parts.host.stores.ledger.read(id);
  if (records.length === 0) throw sagaUnknown();
  return exportLedger(id, records);
}

function afterSeq(cursor: string): number {
  if (/^[1-9]\d{0,11}$/.test(cursor)) return Number(cursor);
  throw new Problem('query-invalid', 'the cursor is none of this list', 'begin again without one', {
    at: 'cursor',
  });
}

function recordView({ seq, prev, hash, body }: LedgerRecord): LedgerPageView['records'][number] {
  const event = parsed(body);
  return { seq, prev, hash, ...(event === undefined ? { body } : { event }) };
}

function parsed(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
