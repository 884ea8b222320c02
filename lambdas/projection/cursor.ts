import { canonicalJson } from '../../statemachines/ledger/canonical.ts';
import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import type { SagaQuery } from '../ports/saga-index.ts';
import type { Place } from './row.ts';

/** `error.name` of {@link CursorInvalid}. */
export const CURSOR_INVALID = 'Counterstep.CursorInvalid';

/** The cursor is not one of ours, or belongs to another tenant or question. */
export class CursorInvalid extends Error {
  override readonly name = CURSOR_INVALID;
  constructor() {
    super('the cursor does not belong to this list: begin again without one');
  }
}

/** A place in one list of one tenant; it fits no other (invariant 8). */
export function encodeCursor(place: Place, query: SagaQuery): string {
  const text = JSON.stringify([place.startedAt, place.sagaId, scopeOf(query)]);
  return Buffer.from(text).toString('base64url');
}

/** @throws CursorInvalid */
export function decodeCursor(cursor: string, query: SagaQuery): Place {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw new CursorInvalid();
  }
  if (!Array.isArray(parsed)) throw new CursorInvalid();
  const [startedAt, sagaId, scope]: unknown[] = parsed;
  if (typeof startedAt !== 'number' || typeof sagaId !== 'string' || scope !== scopeOf(query)) {
    throw new CursorInvalid();
  }
  return { startedAt, sagaId };
}

function scopeOf(query: SagaQuery): string {
  const scope = [
    query.tenant,
    [...(query.states ?? [])].sort(),
    query.name ?? null,
    query.startedBefore ?? null,
  ];
  return sha256Hex(canonicalJson(scope)).slice(0, 16);
}
