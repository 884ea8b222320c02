import { PROTOCOL } from '../rules/events.ts';
import { canonicalJson } from './canonical.ts';
import type { ChainedRecord, ChainId } from './chain.ts';
import { parseIJson } from './ijson.ts';
import { type Anchor, type ChainHead, type Verdict, verifyChain } from './verify.ts';

export const EXPORT_FORMAT = 'counterstep-ledger';

/** `error.name` of {@link ExportError}. */
export const EXPORT_ERROR = 'Counterstep.ExportError';

/** An exported file cannot be read. Fetch it again, whole and unchanged. */
export class ExportError extends Error {
  override readonly name = EXPORT_ERROR;
  /** Counted from 1. */
  readonly line: number;
  constructor(line: number, explanation: string, cause?: unknown) {
    super(`line ${line}: ${explanation}; export the ledger again`, { cause });
    this.line = line;
  }
}

/** The first line of an export. */
export interface ExportHeader extends ChainId {
  readonly format: typeof EXPORT_FORMAT;
  readonly protocol: number;
  /** Where the chain ended when it was exported: a file cut short afterwards is noticed. */
  readonly head?: ChainHead;
}

/**
 * A ledger as lines of JSON that verify with nothing else at hand: a header that names the ledger,
 * then one line a record. Each string ends its line, so they can be written out as they come.
 *
 * The header needs no checksum: record 1 hashes tenant and saga id.
 *
 * @param head where the chain ends, if known; taken from `records` where that is an array
 */
export function* exportLedger(
  id: ChainId,
  records: Iterable<ChainedRecord>,
  head: ChainHead | undefined = Array.isArray(records) ? records.at(-1) : undefined,
): Generator<string, void> {
  let begun = false;
  for (const record of records) {
    if (!begun) yield headerLine(id, protocolOf(record), head);
    begun = true;
    const { seq, body, prev, hash } = record;
    yield `${canonicalJson({ seq, body, prev, hash })}\n`;
  }
  if (!begun) yield headerLine(id, PROTOCOL, head);
}

function headerLine({ tenant, sagaId }: ChainId, protocol: number, head?: ChainHead): string {
  const end = head ? { head: { seq: head.seq, hash: head.hash } } : {};
  return `${canonicalJson({ format: EXPORT_FORMAT, protocol, tenant, sagaId, ...end })}\n`;
}

/** Event 1 names the protocol. A damaged ledger is exported too: that is when it gets looked at. */
function protocolOf(first: ChainedRecord): number {
  try {
    const event: unknown = JSON.parse(first.body);
    if (typeof event === 'object' && event !== null && 'protocol' in event) {
      if (typeof event.protocol === 'number') return event.protocol;
    }
  } catch {
    // The verifier will say so, with the record's number.
  }
  return PROTOCOL;
}

/**
 * Reads what `exportLedger` wrote. The header is read at once, records as they are asked for, once.
 * Lines may still carry their line ends; empty ones are skipped.
 * @param source the lines, or the whole text
 * @throws ExportError for a line that is no header or record, also while `records` is walked
 */
export function readExport(source: string | Iterable<string>): {
  readonly header: ExportHeader;
  readonly records: Iterable<ChainedRecord>;
} {
  // Only \n ends a line: JSON text may hold the other Unicode line separators as they are.
  const lines = typeof source === 'string' ? source.split('\n') : source;
  const numbered = parsedLines(lines);
  const first = numbered.next();
  if (first.done === true) throw new ExportError(1, 'the file is empty');
  return { header: toHeader(first.value), records: toRecords(numbered) };
}

/**
 * Verifies an exported file by itself. A line that cannot be read makes it `invalid`, too.
 * @param anchors as for `verifyChain`; the header's own head is added to them
 */
export function verifyExport(
  source: string | Iterable<string>,
  anchors: readonly Anchor[] = [],
): Verdict {
  try {
    const { header, records } = readExport(source);
    const head: Anchor[] = header.head
      ? [{ name: 'export header', exists: true, ...header.head }]
      : [];
    return verifyChain(header, records, [...head, ...anchors]);
  } catch (error) {
    if (!(error instanceof ExportError)) throw error;
    return {
      kind: 'invalid',
      problem: 'unreadable',
      seq: Math.max(1, error.line - 1),
      explanation: error.message,
      verified: undefined,
    };
  }
}

interface ParsedLine {
  readonly line: number;
  readonly members: Readonly<Record<string, unknown>>;
}

function* parsedLines(lines: Iterable<string>): Generator<ParsedLine, void> {
  let line = 0;
  for (const text of lines) {
    line++;
    if (text.trim() === '') continue;
    let value: unknown;
    try {
      // Strict, since another program must read the same: JSON.parse would take the last duplicate.
      value = parseIJson(text);
    } catch (cause) {
      throw new ExportError(line, cause instanceof Error ? cause.message : 'not JSON', cause);
    }
    if (!isObject(value)) throw new ExportError(line, 'not a JSON object');
    yield { line, members: value };
  }
}

function* toRecords(lines: Iterable<ParsedLine>): Generator<ChainedRecord, void> {
  for (const { line, members } of lines) {
    const { seq, body, prev, hash, ...others } = members;
    refuseOthers(line, others);
    if (
      typeof seq !== 'number' ||
      typeof body !== 'string' ||
      typeof prev !== 'string' ||
      typeof hash !== 'string'
    ) {
      throw new ExportError(line, 'a record needs seq, body, prev and hash');
    }
    yield { seq, body, prev, hash };
  }
}

function toHeader({ line, members }: ParsedLine): ExportHeader {
  const { format, protocol, tenant, sagaId, head, ...others } = members;
  if (format !== EXPORT_FORMAT) {
    throw new ExportError(line, `the first line must have "format":"${EXPORT_FORMAT}"`);
  }
  if (typeof protocol !== 'number' || protocol < 1 || protocol > PROTOCOL) {
    const explanation = `protocol ${String(protocol)} is not known here (up to ${PROTOCOL} is); verify it with the version that wrote it`;
    throw new ExportError(line, explanation);
  }
  if (
    typeof tenant !== 'string' ||
    typeof sagaId !== 'string' ||
    tenant === '' ||
    sagaId === '' ||
    tenant.includes('/')
  ) {
    throw new ExportError(line, 'the header needs a tenant without "/" and a sagaId');
  }
  refuseOthers(line, others);
  if (head === undefined) return { format: EXPORT_FORMAT, protocol, tenant, sagaId };
  if (!isObject(head)) throw new ExportError(line, 'the head in the header is no object');
  const { seq, hash, ...otherParts } = head;
  refuseOthers(line, otherParts);
  if (
    typeof seq !== 'number' ||
    typeof hash !== 'string' ||
    !Number.isSafeInteger(seq) ||
    seq < 1
  ) {
    throw new ExportError(line, 'the head in the header needs seq and hash');
  }
  return { format: EXPORT_FORMAT, protocol, tenant, sagaId, head: { seq, hash } };
}

/** What no hash covers would look as proven as the rest. */
function refuseOthers(line: number, others: Readonly<Record<string, unknown>>): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw new ExportError(line, `member "${name}" has no place in an export`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
