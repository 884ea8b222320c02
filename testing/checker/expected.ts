import {
  isBeyondRepair,
  isOpen,
  owes,
  recoveryOf,
  type SagaFacts,
  type StepFacts,
  skippedWhy,
} from './facts.ts';
import { type CostFact, FINAL, type Ids, undoOf } from './records.ts';
import { spendingOf } from './spending.ts';

/** What a standing report must say of one step. */
export interface ExpectedStep {
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
}

/** What a standing report must say, by the events it was made from. */
export interface ExpectedReport {
  readonly sagaId: unknown;
  readonly name: unknown;
  readonly version: unknown;
  readonly state: string;
  readonly seq: number;
  readonly checkpoint?: string;
  readonly recoveryCost?: Readonly<Record<string, unknown>>;
  readonly clear: boolean;
  readonly summary: string;
  readonly steps: readonly ExpectedStep[];
}

type Verdict = readonly [standing: string, words: string];

const GONE = ['nothing', 'reversed', 'superseded', 'resolved'];

export function expectedReport(facts: SagaFacts): ExpectedReport {
  const { first, head } = facts;
  const checkpoint = checkpointOf(facts);
  const kept = checkpoint === undefined ? new Set<string>() : upTo(facts, checkpoint);
  const steps = [...facts.steps.values()].map((step) => expectedStep(facts, step, kept));
  const cost = recoveryCost(facts);
  return {
    sagaId: first.sagaId,
    name: first.name,
    version: first.version,
    state: head.state,
    seq: head.seq,
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(cost === undefined ? {} : { recoveryCost: cost }),
    clear: steps.every(({ standing, extra }) => extra.length === 0 && GONE.includes(standing)),
    summary: summaryOf(head.state, checkpoint, steps),
    steps,
  };
}

function expectedStep(facts: SagaFacts, step: StepFacts, kept: ReadonlySet<string>): ExpectedStep {
  const { name, tool, effect, forward, recovery, resolved, late } = step;
  const [standing, words] = verdict(facts, step, kept);
  const undoIds = recovery?.ids ?? {};
  const cost = (recovery?.commit?.cost ?? forward.commit?.cost) as CostFact | undefined;
  const overshoot = recovery?.commit?.overshoot as CostFact | undefined;
  return {
    step: name,
    tool,
    effect,
    standing,
    words,
    externalIds: { ...undoIds, ...forward.ids },
    ...(Object.keys(undoIds).length === 0 ? {} : { recoveryIds: undoIds }),
    ...(cost === undefined ? {} : { cost }),
    ...(overshoot === undefined ? {} : { overshoot }),
    ...resolved,
    extra: late,
  };
}

function verdict(facts: SagaFacts, step: StepFacts, kept: ReadonlySet<string>): Verdict {
  const { forward, resolved, effect, recovery } = step;
  if (resolved !== undefined) return ['resolved', `resolved by ${resolved.by}`];
  if (effect === 'read_only') return ['nothing', 'only read'];
  if (forward.known === 'waiting') return ['awaiting', 'accepted by the provider, not settled yet'];
  if (isOpen(forward)) {
    const driven = forward.known === 'running' && facts.head.drive === 'running';
    return ['in_doubt', driven ? 'under way' : 'may have taken effect; being found out'];
  }
  const { code } = forward.failure ?? { code: 'unknown' };
  if (isBeyondRepair(step)) return ['irreversible', `failed past the point of no return: ${code}`];
  if (forward.known !== 'done') return ['nothing', undone(facts, step)];
  if (effect === 'irreversible') {
    const contained = recovery?.known === 'done' && recovery.attempts > 0;
    return [
      'irreversible',
      contained ? 'cannot be undone; contained' : 'done, and cannot be undone',
    ];
  }
  if (kept.has(step.name))
    return ['kept', `stays: checkpoint "${String(checkpointOf(facts))}" keeps it`];
  return recovering(facts, step);
}

function undone({ halt }: SagaFacts, { name, forward }: StepFacts): string {
  const { failure } = forward;
  if (failure?.class === 'terminal_hold') return `held: ${failure.code}`;
  if (forward.known === 'failed') return `refused: ${failure?.code ?? 'unknown'}`;
  const what = forward.attempts === 0 ? 'never attempted' : 'never took effect';
  const why = halt?.step === name ? SPENT[halt.reason] : undefined;
  if (why === undefined) return what;
  return `${what}: ${why}${halt?.budget === undefined ? '' : ' for the saga'}`;
}

const SPENT: Readonly<Record<string, string>> = {
  attempts_spent: 'no tries were left',
  time_spent: 'no time was left',
  cost_spent: 'it would have cost too much',
  breaker_open: "its tool's breaker let nothing through",
};

function recovering(facts: SagaFacts, step: StepFacts): Verdict {
  const { effect, recovery } = step;
  const undo = recoveryOf(step);
  const skipped = skippedWhy(step);
  const undoing = facts.halt !== undefined && !facts.pivotStands();
  switch (undo) {
    case 'done':
      if (recovery?.action === 'supersede')
        return ['superseded', 'superseded by the earlier valid version'];
      return [
        'reversed',
        effect === 'compensable' ? 'countered by a new business event' : 'undone',
      ];
    case 'waiting':
      return ['awaiting', 'its undo is under way at the provider'];
    case 'running':
    case 'in_doubt':
      return ['in_doubt', 'its undo may have taken effect; being found out'];
    case 'failed': {
      const code = recovery?.failure?.code ?? 'tries spent';
      return ['stands', `still stands: its undo failed (${code})`];
    }
    case 'not_owed':
      if (undoing && skipped !== undefined) return ['kept', `stays, nothing to undo: ${skipped}`];
      return ['stands', standing(facts, step)];
    default:
      return ['stands', standing(facts, step)];
  }
}

function standing(facts: SagaFacts, { name, adopted }: StepFacts): string {
  const { halt, head, first, plan } = facts;
  if (halt === undefined) {
    if (adopted) return `done by saga ${String(first.previous)}, whose checkpoint kept it`;
    return head.state === 'completed' ? 'done, as meant' : 'done';
  }
  if (facts.pivotStands()) return 'stays, since the irreversible step has committed';
  const entry = plan?.entries.find((each) => each.step === name);
  if (entry?.action === 'person') return 'still stands: a person must undo it';
  if (blocked(facts, name)) return 'still stands: waits for an undo that failed';
  return FINAL.includes(head.state) ? 'still stands' : 'still stands: its undo is to come';
}

/** Something that must be undone before it failed for good, or waits for a person, or is blocked itself. */
function blocked(facts: SagaFacts, name: string): boolean {
  const entries = facts.plan?.entries ?? [];
  const entry = entries.find((each) => each.step === name);
  return (entry?.after ?? []).some((before) => {
    const step = facts.steps.get(before);
    if (step === undefined || !owes(step)) return false;
    const ahead = entries.find((each) => each.step === before);
    const unavailable = undoOf(step.forward.commit)?.kind === 'unavailable';
    const byHand =
      ahead?.action === 'person' ||
      (ahead !== undefined && ahead.action !== 'contain' && unavailable);
    return step.recovery?.known === 'failed' || byHand || blocked(facts, before);
  });
}

/** Where recovery ends: as the plan says, and before there is one, at the last checkpoint that holds. */
function checkpointOf(facts: SagaFacts): string | undefined {
  const { halt, plan } = facts;
  if (halt === undefined || facts.pivotStands()) return undefined;
  if (plan !== undefined) return plan.checkpoint;
  let last: string | undefined;
  let size = 0;
  for (const { name, checkpoint, adopted } of facts.steps.values()) {
    if (checkpoint !== true || (halt.everything && !adopted)) continue;
    const before = upTo(facts, name);
    const holds = [...before].every((each) => isWhole(facts.steps.get(each)));
    if (!holds || before.size <= size) continue;
    last = name;
    size = before.size;
  }
  return last;
}

function isWhole(step: StepFacts | undefined): boolean {
  if (step === undefined || step.forward.known !== 'done') return false;
  const { recovery, resolved, forward } = step;
  return recovery === undefined && resolved === undefined && forward.commit?.defect === undefined;
}

function upTo(facts: SagaFacts, checkpoint: string): ReadonlySet<string> {
  const steps = [...facts.steps.values()];
  const found = new Set([checkpoint]);
  for (const name of found) {
    const index = steps.findIndex((step) => step.name === name);
    const before = steps[index - 1];
    for (const each of steps[index]?.after ?? (before === undefined ? [] : [before.name]))
      found.add(each);
  }
  return found;
}

function recoveryCost(facts: SagaFacts): Readonly<Record<string, unknown>> | undefined {
  const { spentMinor, owedMinor, limitMinor, currency } = spendingOf(facts);
  if (facts.plan === undefined || currency === undefined) return undefined;
  const over = limitMinor === undefined ? 0 : spentMinor - limitMinor;
  return {
    spentMinor,
    reservedMinor: owedMinor,
    ...(limitMinor === undefined ? {} : { limitMinor }),
    ...(over > 0 ? { overLimitMinor: over } : {}),
    currency,
  };
}

/** In which order a summary tells of the steps, and how it calls them. */
const TOLD: readonly (readonly [standing: string, words: string, of?: 'countered' | 'undone'])[] = [
  ['stands', 'stands'],
  ['irreversible', 'cannot be undone'],
  ['in_doubt', 'in doubt'],
  ['awaiting', 'awaited'],
  ['kept', 'kept'],
  ['reversed', 'undone', 'undone'],
  ['reversed', 'countered', 'countered'],
  ['superseded', 'superseded'],
  ['resolved', 'resolved by a person'],
];

function summaryOf(
  state: string,
  checkpoint: string | undefined,
  steps: readonly ExpectedStep[],
): string {
  const named = (words: string, of: readonly ExpectedStep[]): string[] =>
    of.length === 0 ? [] : [`${words}: ${of.map(({ step }) => step).join(', ')}`];
  const parts = TOLD.flatMap(([word, words, of]) => {
    const told = steps.filter(({ standing: own, effect }) => {
      const fits = of === undefined || (of === 'countered') === (effect === 'compensable');
      return own === word && fits;
    });
    return named(words, told);
  });
  const extra = steps.filter((step) => step.extra.length > 0);
  const over = steps.filter(({ overshoot }) => overshoot !== undefined);
  parts.push(...named('a second effect', extra));
  parts.push(...named('undone at a higher cost than planned', over));
  const end =
    state === 'compensated' && checkpoint !== undefined ? ` to checkpoint ${checkpoint}` : '';
  return `${state}${end}: ${parts.length === 0 ? 'no effect stands' : parts.join('; ')}`;
}
