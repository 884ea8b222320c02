import type { HeadEntry } from '../ports/heads.ts';
import { carriedText, checkedSeq, ledgerKey } from './checks.ts';

/** Whether `entry` may take the place of `standing`: an anchor never moves back, nor sideways. */
export function movesOn(standing: HeadEntry | undefined, entry: HeadEntry): boolean {
  if (standing === undefined || entry.seq > standing.seq) return true;
  return entry.seq === standing.seq && entry.hash === standing.hash;
}

export function checkedHead(entry: HeadEntry): HeadEntry {
  ledgerKey(entry);
  return {
    tenant: entry.tenant,
    sagaId: entry.sagaId,
    seq: checkedSeq('head.seq', entry.seq, 1),
    hash: carriedText('head.hash', entry.hash),
    json: carriedText('head.json', entry.json),
  };
}
