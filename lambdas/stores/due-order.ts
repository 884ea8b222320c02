import type { RegistryEntry } from '../ports/registry.ts';
import { InvalidStoreArgument, ledgerKey, parseLedgerKey } from './checks.ts';

/** Digits of the latest moment a Date can hold; padded to them, times order as text. */
const DIGITS = 16;
const LATEST_MS = 8_640_000_000_000_000;
const POSITION = /^\d{16}#[^/]+\/./u;

/** Where an entry stands among all: `<zero-padded dueAt>#tenant/sagaId`. Also its name. */
export function positionOf(entry: RegistryEntry): string {
  const { dueAt } = entry;
  if (!Number.isInteger(dueAt) || dueAt < 0 || dueAt > LATEST_MS) {
    throw new InvalidStoreArgument(
      `dueAt is ${String(dueAt)}: pass whole epoch milliseconds, not before 1970`,
    );
  }
  return `${padded(dueAt)}#${ledgerKey(entry)}`;
}

export function entryAt(position: string): RegistryEntry {
  return {
    dueAt: Number(position.slice(0, DIGITS)),
    ...parseLedgerKey(position.slice(DIGITS + 1)),
  };
}

/** What one call of `due` looks for: positions from `from` (inclusive) up to `to` (exclusive). */
export interface DueRange {
  readonly from: string;
  readonly to: string;
  readonly limit: number;
}

export function dueRange(untilMs: number, limit: number, cursor: string | undefined): DueRange {
  if (typeof untilMs !== 'number' || Number.isNaN(untilMs)) {
    throw new InvalidStoreArgument(`untilMs is ${String(untilMs)}: pass epoch milliseconds`);
  }
  if (!Number.isInteger(limit) || limit < 1) {
    throw new InvalidStoreArgument(`limit is ${String(limit)}: pass a whole number from 1`);
  }
  const endMs = Math.min(Math.max(Math.floor(untilMs) + 1, 0), LATEST_MS + 1);
  return {
    // Nothing lies between a text and the same text followed by U+0000.
    from: cursor === undefined ? padded(0) : `${parseCursor(cursor)}\u0000`,
    to: padded(endMs),
    limit,
  };
}

export function cursorAfter(position: string): string {
  return Buffer.from(position, 'utf8').toString('base64url');
}

function parseCursor(cursor: string): string {
  const position = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : '';
  if (!POSITION.test(position) || cursorAfter(position) !== cursor) {
    throw new InvalidStoreArgument(
      'the registry cursor is damaged: pass the one from the last page unchanged, or start over without',
    );
  }
  return position;
}

function padded(timeMs: number): string {
  return String(timeMs).padStart(DIGITS, '0');
}
