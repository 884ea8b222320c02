import { attempts } from './attempts.ts';
import { chain } from './chain.ts';
import { commits } from './commits.ts';
import { contained, costs } from './costs.ts';
import { effects } from './effects.ts';
import { endings } from './endings.ts';
import { heads } from './heads.ts';
import type { LedgerName, PartnerFacts, StoredRecord } from './records.ts';
import { recoveryOrder } from './recovery.ts';

export type { LedgerName, PartnerFacts, StoredRecord } from './records.ts';

/**
 * Every way in which a ledger and the partners' own records contradict the invariants. Empty: none.
 * Without partners the ledger is held against itself alone.
 *
 * Independent of the engine: it shares no code with it and knows only the stored format and the
 * numbered invariants of the design. It never repairs and never guesses; each finding is one line that
 * begins with the number of the invariant it breaks.
 */
export function check(
  ledger: LedgerName,
  records: readonly StoredRecord[],
  partners?: readonly PartnerFacts[],
): string[] {
  const found: string[] = [];
  const events = chain(ledger, records, found);
  // What follows presumes that the events are what was written.
  if (found.length > 0) return found;
  const first = events[0];
  if (first === undefined) {
    if (partners?.some((partner) => partner.effects.length > 0))
      found.push('9: an effect without a ledger');
    return found;
  }
  if (first.tenant !== ledger.tenant || first.sagaId !== ledger.sagaId) {
    found.push('8: event 1 names another tenant or saga');
  }
  heads(events, found);
  const actions = attempts(events, found);
  recoveryOrder(events, actions, found);
  endings(events, actions, found);
  commits(events, found);
  costs(events, actions, partners, found);
  if (partners === undefined) return found;
  effects(events, actions, partners, found);
  contained(events, partners, found);
  return found;
}
