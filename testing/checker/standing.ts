import { adoptedSteps } from './endings.ts';
import { type ExpectedReport, type ExpectedStep, expectedReport } from './expected.ts';
import { factsOf } from './facts.ts';
import {
  type CostFact,
  canonical,
  type EffectFact,
  type Event,
  eventsIn,
  type Ids,
  type PartnerFacts,
  type StoredRecord,
  stepsOf,
} from './records.ts';

/** What the checker reads of a standing report. */
export interface StandingWords {
  readonly sagaId: string;
  readonly name: string;
  readonly version: string;
  readonly state: string;
  readonly seq: number;
  readonly checkpoint?: string;
  readonly recoveryCost?: object;
  readonly clear: boolean;
  readonly summary: string;
  readonly steps: readonly {
    readonly step: string;
    readonly tool: string;
    readonly effect: string;
    readonly standing: string;
    readonly words: string;
    readonly externalIds: Ids;
    readonly recoveryIds?: Ids;
    readonly cost?: CostFact;
    readonly overshoot?: CostFact;
    readonly by?: string;
    readonly evidence?: string;
    readonly extra: readonly Ids[];
  }[];
}

type StepWords = StandingWords['steps'][number];

/** States at which a report speaks of all there is; before, an outcome may be on its way to the ledger. */
const SETTLED = ['completed', 'compensated', 'incident'];

/**
 * Every way in which a standing report contradicts the ledger it was made from, or the partners' own
 * records: each word, id and amount in it is what the events say; what it calls standing is there and
 * not undone, what it calls reversed is undone, ids and amounts are the partners', and nothing is left out.
 */
export function checkStanding(
  report: StandingWords,
  records: readonly StoredRecord[],
  partners: readonly PartnerFacts[],
): string[] {
  const events = eventsIn(records);
  const found: string[] = [];
  const facts = factsOf(events);
  const head = events.at(-1);
  if (facts === undefined || head === undefined) return found;
  againstLedger(report, expectedReport(facts), found);
  const asksAPerson = head.state === 'needs_review' && head.drive === 'parked';
  if (asksAPerson || SETTLED.includes(head.state)) againstBooks(report, events, partners, found);
  return found;
}

const OF_THE_SAGA = [
  'sagaId',
  'name',
  'version',
  'state',
  'seq',
  'checkpoint',
  'recoveryCost',
  'clear',
  'summary',
] as const satisfies readonly (keyof ExpectedReport & keyof StandingWords)[];

const OF_A_STEP = [
  'tool',
  'effect',
  'standing',
  'words',
  'externalIds',
  'recoveryIds',
  'cost',
  'overshoot',
  'by',
  'evidence',
  'extra',
] as const satisfies readonly (keyof ExpectedStep & keyof StepWords)[];

/** Each member is what the events make of it. */
function againstLedger(report: StandingWords, expected: ExpectedReport, found: string[]): void {
  const names = report.steps.map(({ step }) => step).join(', ');
  const known = expected.steps.map(({ step }) => step).join(', ');
  if (names !== known) found.push(`2: the report tells of ${names}, and the saga has ${known}`);
  for (const member of OF_THE_SAGA) {
    if (report[member] === expected[member]) continue;
    const says = textOf(report[member]);
    const is = textOf(expected[member]);
    if (says !== is) found.push(`2: the report says ${member} ${says}, by the ledger it is ${is}`);
  }
  for (const step of expected.steps) {
    const told = report.steps.find((each) => each.step === step.step);
    if (told === undefined) continue;
    for (const member of OF_A_STEP) {
      if (told[member] === step[member]) continue;
      const says = textOf(told[member]);
      const is = textOf(step[member]);
      if (says !== is)
        found.push(`2: the report says of ${step.step} ${member} ${says}, by the ledger ${is}`);
    }
  }
}

function textOf(value: unknown): string {
  return value === undefined ? 'nothing' : canonical(value);
}

function againstBooks(
  report: StandingWords,
  events: readonly Event[],
  partners: readonly PartnerFacts[],
  found: string[],
): void {
  const all = partners.flatMap((partner) => partner.effects);
  const adopted = adoptedSteps(events);
  let standing = 0;
  for (const words of report.steps) {
    // What was adopted took effect in the saga before: no call of this one made it.
    if (words.effect === 'read_only' || adopted.has(words.step)) continue;
    const left = stepAgainstBooks(words, events, all, partners, found);
    standing += words.effect === 'supersede' || words.standing === 'kept' ? 0 : left;
  }
  for (const { name, effect } of stepsOf(events)) {
    if (effect === 'read_only' || report.steps.some(({ step }) => step === name)) continue;
    const made = madeBy(name, 'forward', events, all);
    if (made.length > 0) found.push(`2: the report leaves out ${name}, which took effect`);
  }
  if (report.clear && standing > 0) found.push('2: the report is clear, but effects stand');
}

/** @returns how many of its effects stand */
function stepAgainstBooks(
  { step, standing: word, extra, externalIds, recoveryIds = {}, cost }: StepWords,
  events: readonly Event[],
  all: readonly EffectFact[],
  partners: readonly PartnerFacts[],
  found: string[],
): number {
  const made = madeBy(step, 'forward', events, all);
  const undos = UNDOS.flatMap((action) => madeBy(step, action, events, all));
  const left = made.filter((each) => !all.some((other) => other.reverses === each.id));
  const says = (what: string): void => {
    found.push(`2: the report calls ${step} "${word}", but ${what}`);
  };
  if (left.length > 1 && extra.length === 0) says(`${left.length} effects stand`);
  const stays = left.length > extra.length;
  switch (word) {
    case 'stands':
    case 'kept':
      if (left.length === 0) says('nothing of it stands');
      break;
    case 'nothing':
      if (stays) says(`${left[0]?.id ?? ''} stands`);
      break;
    case 'reversed':
      if (made.length === 0) says('it never took effect');
      if (stays) says(`${left[0]?.id ?? ''} stands`);
      break;
    case 'superseded':
      if (made.length === 0) says('it never took effect');
      break;
    case 'resolved':
      if (stays) says(`${left[0]?.id ?? ''} stands`);
      break;
    case 'awaiting':
      if (!wasCalled(step, events, partners)) says('nobody was called');
      break;
    case 'irreversible':
      if (made.some((each) => !left.includes(each))) says('it was undone');
  }
  const claims = claimsOf(step, events);
  const waiting = partners
    .flatMap(({ accepted = [] }) => accepted)
    .filter(({ correlationId }) => claims.has(correlationId));
  const known = (ids: Ids, among: readonly EffectFact[]): void => {
    // A partner that does not say by which ids it knows an effect is not held to any.
    if (among.length === 0 || among.some((each) => each.ids === undefined)) return;
    for (const [name, id] of Object.entries(ids))
      if (![...among, ...waiting].some((each) => each.ids?.[name] === id))
        says(`no partner knows its ${name} ${id}`);
  };
  known(externalIds, [...made, ...undos]);
  known(recoveryIds, undos);
  for (const ids of extra) known(ids, [...made, ...undos]);
  const paid = [...made, ...undos].filter(({ cost: taken }) => taken !== undefined);
  if (paid.length > 0 && cost !== undefined) {
    if (!paid.some((each) => canonical(each.cost) === canonical(cost)))
      says(`no partner took ${canonical(cost)}`);
  }
  return left.length;
}

const UNDOS = ['compensate', 'supersede', 'contain'];

function madeBy(
  step: string,
  action: string,
  events: readonly Event[],
  all: readonly EffectFact[],
): readonly EffectFact[] {
  const claim = events.find(
    (event) => event.type === 'step_claimed' && event.step === step && event.action === action,
  );
  if (claim === undefined) return [];
  return all.filter((each) => each.correlationId === claim.correlationId);
}

function wasCalled(
  step: string,
  events: readonly Event[],
  partners: readonly PartnerFacts[],
): boolean {
  const claims = claimsOf(step, events);
  return partners.some(({ calls }) => calls.some((call) => claims.has(call.correlationId)));
}

/** Correlation ids under which anything of a step was called. */
function claimsOf(step: string, events: readonly Event[]): ReadonlySet<unknown> {
  const claims = events.filter((event) => event.type === 'step_claimed' && event.step === step);
  return new Set(claims.map((claim) => claim.correlationId));
}
