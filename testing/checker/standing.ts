import { adoptedSteps } from './endings.ts';
import { eventsIn, type PartnerFacts, type StoredRecord } from './records.ts';

/** What the checker reads of a standing report. */
export interface StandingWords {
  readonly clear: boolean;
  readonly steps: readonly {
    readonly step: string;
    readonly effect: string;
    readonly standing: string;
    readonly extra: readonly unknown[];
  }[];
}

/** States at which a report speaks of all there is; before, an outcome may be on its way to the ledger. */
const SETTLED = ['completed', 'compensated', 'incident'];

/**
 * Every way in which a standing report and the partners' own records contradict each other: what it
 * calls standing is there and not undone, what it calls reversed is undone, and nothing is left out.
 */
export function checkStanding(
  report: StandingWords,
  records: readonly StoredRecord[],
  partners: readonly PartnerFacts[],
): string[] {
  const events = eventsIn(records);
  const head = events.at(-1);
  const asksAPerson = head?.state === 'needs_review' && head.drive === 'parked';
  if (!asksAPerson && !SETTLED.includes(head?.state ?? '')) return [];
  const all = partners.flatMap((partner) => partner.effects);
  const found: string[] = [];
  const adopted = adoptedSteps(events);
  let standing = 0;
  for (const { step, effect, standing: word, extra } of report.steps) {
    // What was adopted took effect in the saga before: no call of this one made it.
    if (effect === 'read_only' || adopted.has(step)) continue;
    const claim = events.find(
      (event) => event.type === 'step_claimed' && event.step === step && event.action === 'forward',
    );
    const made = all.filter((each) => each.correlationId === claim?.correlationId);
    const left = made.filter((each) => !all.some((other) => other.reverses === each.id));
    standing += effect === 'supersede' || word === 'kept' ? 0 : left.length;
    const says = (what: string): void => {
      found.push(`2: the report calls ${step} "${word}", but ${what}`);
    };
    if (left.length > 1 && extra.length === 0) says(`${left.length} effects stand`);
    switch (word) {
      case 'stands':
      case 'kept':
        if (left.length === 0) says('nothing of it stands');
        break;
      case 'nothing':
        if (left.length > 0 && extra.length === 0) says(`${left[0]?.id ?? ''} stands`);
        break;
      case 'reversed':
        if (made.length === 0) says('it never took effect');
        if (left.length > extra.length) says(`${left[0]?.id ?? ''} stands`);
        break;
      case 'superseded':
        if (made.length === 0) says('it never took effect');
        break;
      case 'resolved':
        if (left.length > extra.length) says(`${left[0]?.id ?? ''} stands`);
        break;
      default:
    }
  }
  if (report.clear && standing > 0) found.push('2: the report is clear, but effects stand');
  return found;
}
