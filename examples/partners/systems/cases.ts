import { createHash } from 'node:crypto';

/** What the document store, the search index and the register have in common: cases, with ids like `D-17`. */
export function isCase(id: string): boolean {
  return /^D-[\w-]+$/.test(id);
}

/** The content that came in for a case, by its digest. */
export function digestOf(caseId: string): string {
  return createHash('sha256').update(caseId).digest('hex').slice(0, 16);
}
