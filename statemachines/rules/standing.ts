import type { EffectClass } from '../language/effects.ts';
import { checkpointOf, keptSteps } from './checkpoint.ts';
import {
  type Cost,
  type ExternalIds,
  type HaltReason,
  SPENT_REASONS,
  type SpentReason,
} from './events.ts';
import { type RecoveryCost, recoveryCostOf } from './recovery-cost.ts';
import type { SagaState, StepState } from './state.ts';
import {
  failedIrreversibly,
  isBlocked,
  isDone,
  isFinal,
  isUnresolved,
  pivotCommitted,
  recoveryStatus,
  stepsInOrder,
  undoSkipped,
} from './view.ts';

/** What became of one step's effect, in one word. */
export const STANDINGS = [
  /** Read only, or never took effect. */
  'nothing',
  'stands',
  /** It stays as meant: recovery went back to a checkpoint behind it. */
  'kept',
  'reversed',
  'superseded',
  'resolved',
  /** Nobody knows yet whether it took effect. */
  'in_doubt',
  /** The provider is still at it (a charge settling, a refund under way). */
  'awaiting',
  'irreversible',
] as const;
export type Standing = (typeof STANDINGS)[number];

export interface StepStanding {
  readonly step: string;
  readonly tool: string;
  readonly effect: EffectClass;
  readonly standing: Standing;
  /** For a person, in words that match the business state. */
  readonly words: string;
  /** Of the effect, and of what undid or contained it; the effect's own where both have one name. */
  readonly externalIds: ExternalIds;
  /** Of what undid or contained it alone. */
  readonly recoveryIds?: ExternalIds;
  readonly cost?: Cost;
  /** By how much its recovery cost more than was set aside for it. */
  readonly overshoot?: Cost;
  readonly by?: string;
  readonly evidence?: string;
  /** Effects beside the recorded one, each by its external ids. */
  readonly extra: readonly ExternalIds[];
}

/** The answer to "what stood after the failure?", from the ledger alone. */
export interface StandingReport {
  readonly tenant: string;
  readonly sagaId: string;
  readonly name: string;
  readonly version: string;
  readonly state: SagaState['status'];
  /** The head this report was folded from. */
  readonly seq: number;
  readonly at: number;
  /** Recovery goes, or went, back to it: the steps up to it keep what they did. */
  readonly checkpoint?: string;
  readonly recoveryCost?: RecoveryCost;
  /** True only if no effect stands, is kept, is in doubt or awaited. */
  readonly clear: boolean;
  readonly summary: string;
  readonly steps: readonly StepStanding[];
}

export function standingReport(state: SagaState): StandingReport {
  const checkpoint = checkpointOf(state);
  const recoveryCost = recoveryCostOf(state);
  const steps = stepsInOrder(state).map((step) => standingOf(state, step));
  const clear = steps.every(
    (step) =>
      step.extra.length === 0 &&
      ['nothing', 'reversed', 'superseded', 'resolved'].includes(step.standing),
  );
  return {
    tenant: state.start.tenant,
    sagaId: state.start.sagaId,
    name: state.start.name,
    version: state.start.version,
    state: state.status,
    seq: state.seq,
    at: state.at,
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(recoveryCost === undefined ? {} : { recoveryCost }),
    clear,
    summary: summarise(state, steps),
    steps,
  };
}

function standingOf(state: SagaState, step: StepState): StepStanding {
  const { record, forward, recovery, resolved } = step;
  const { standing, words } = verdict(state, step);
  const cost = recovery?.commit?.cost ?? forward.commit?.cost;
  const overshoot = recovery?.commit?.overshoot;
  const recoveryIds = recovery?.externalIds ?? {};
  return {
    step: record.name,
    tool: record.tool,
    effect: record.effect,
    standing,
    words,
    externalIds: { ...recoveryIds, ...forward.externalIds },
    ...(Object.keys(recoveryIds).length === 0 ? {} : { recoveryIds }),
    ...(cost === undefined ? {} : { cost }),
    ...(overshoot === undefined ? {} : { overshoot }),
    ...(resolved === undefined ? {} : { by: resolved.by, evidence: resolved.evidence }),
    extra: step.late.map((late) => late.externalIds),
  };
}

function verdict(state: SagaState, step: StepState): { standing: Standing; words: string } {
  const { record, forward, resolved } = step;
  if (resolved !== undefined) return { standing: 'resolved', words: `resolved by ${resolved.by}` };
  if (record.effect === 'read_only') return { standing: 'nothing', words: 'only read' };
  if (forward.status === 'waiting') {
    return { standing: 'awaiting', words: 'accepted by the provider, not settled yet' };
  }
  if (isUnresolved(forward)) {
    return forward.status === 'running' && state.drive === 'running'
      ? { standing: 'in_doubt', words: 'under way' }
      : { standing: 'in_doubt', words: 'may have taken effect; being found out' };
  }
  if (failedIrreversibly(step)) {
    const words = `failed past the point of no return: ${forward.failure?.code ?? 'unknown'}`;
    return { standing: 'irreversible', words };
  }
  if (!isDone(forward)) return { standing: 'nothing', words: notDone(state, step) };
  if (record.effect === 'irreversible') {
    const contained = recoveryStatus(step) === 'done' && step.recovery?.attempts !== 0;
    const words = contained ? 'cannot be undone; contained' : 'done, and cannot be undone';
    return { standing: 'irreversible', words };
  }
  if (keptSteps(state).has(record.name)) {
    return { standing: 'kept', words: `stays: checkpoint "${checkpointOf(state)}" keeps it` };
  }
  return recovered(state, step);
}

/** Which budget ended it, where one did. */
const SPENT: Readonly<Record<SpentReason, string>> = {
  attempts_spent: 'no tries were left',
  time_spent: 'no time was left',
  cost_spent: 'it would have cost too much',
  breaker_open: "its tool's breaker let nothing through",
};

function spentOn(state: SagaState, { record }: StepState): string {
  const { halt } = state;
  if (halt === undefined || halt.step !== record.name || !isSpent(halt.reason)) return '';
  return `: ${SPENT[halt.reason]}${halt.budget === undefined ? '' : ' for the saga'}`;
}

function isSpent(reason: HaltReason): reason is SpentReason {
  return SPENT_REASONS.some((each) => each === reason);
}

function notDone(state: SagaState, step: StepState): string {
  const { forward } = step;
  if (forward.failure?.class === 'terminal_hold') return `held: ${forward.failure.code}`;
  if (forward.status === 'failed') return `refused: ${forward.failure?.code ?? 'unknown'}`;
  const what = forward.attempts === 0 ? 'never attempted' : 'never took effect';
  return `${what}${spentOn(state, step)}`;
}

function recovered(state: SagaState, step: StepState): { standing: Standing; words: string } {
  const { effect } = step.record;
  const status = recoveryStatus(step);
  const skipped = undoSkipped(step);
  const undoing = state.halt !== undefined && !pivotCommitted(state);
  if (skipped !== undefined && undoing && status === 'not_required') {
    return { standing: 'kept', words: `stays, nothing to undo: ${skipped}` };
  }
  switch (status) {
    case 'done':
      return {
        standing: 'reversed',
        words: effect === 'compensable' ? 'countered by a new business event' : 'undone',
      };
    case 'superseded':
      return { standing: 'superseded', words: 'superseded by the earlier valid version' };
    case 'waiting':
      return { standing: 'awaiting', words: 'its undo is under way at the provider' };
    case 'running':
    case 'in_doubt':
      return { standing: 'in_doubt', words: 'its undo may have taken effect; being found out' };
    case 'failed':
      return {
        standing: 'stands',
        words: `still stands: its undo failed (${step.recovery?.failure?.code ?? 'tries spent'})`,
      };
    default:
      return { standing: 'stands', words: stands(state, step) };
  }
}

function stands(state: SagaState, step: StepState): string {
  if (state.halt === undefined) {
    if (step.adopted === true)
      return `done by saga ${state.start.previous}, whose checkpoint kept it`;
    return state.status === 'completed' ? 'done, as meant' : 'done';
  }
  if (pivotCommitted(state)) return 'stays, since the irreversible step has committed';
  const entry = state.plan?.entries.find((candidate) => candidate.step === step.record.name);
  if (entry?.action === 'person') return 'still stands: a person must undo it';
  if (entry !== undefined && isBlocked(state, entry))
    return 'still stands: waits for an undo that failed';
  return isFinal(state) ? 'still stands' : 'still stands: its undo is to come';
}

function summarise(state: SagaState, steps: readonly StepStanding[]): string {
  const parts: string[] = [];
  const say = (standing: Standing, words: string, of = steps): void => {
    const names = of.filter((step) => step.standing === standing).map((step) => step.step);
    if (names.length > 0) parts.push(`${words}: ${names.join(', ')}`);
  };
  // A refund is no erasure: what was countered by a new business event is not "undone".
  const countered = steps.filter((step) => step.effect === 'compensable');
  const undone = steps.filter((step) => step.effect !== 'compensable');
  say('stands', 'stands');
  say('irreversible', 'cannot be undone');
  say('in_doubt', 'in doubt');
  say('awaiting', 'awaited');
  say('kept', 'kept');
  say('reversed', 'undone', undone);
  say('reversed', 'countered', countered);
  say('superseded', 'superseded');
  say('resolved', 'resolved by a person');
  const extra = steps.filter((step) => step.extra.length > 0).map((step) => step.step);
  if (extra.length > 0) parts.push(`a second effect: ${extra.join(', ')}`);
  const over = steps.filter((step) => step.overshoot !== undefined).map((step) => step.step);
  if (over.length > 0) parts.push(`undone at a higher cost than planned: ${over.join(', ')}`);
  const what = parts.length === 0 ? 'no effect stands' : parts.join('; ');
  const checkpoint = state.status === 'compensated' ? checkpointOf(state) : undefined;
  const end = checkpoint === undefined ? '' : ` to checkpoint ${checkpoint}`;
  return `${state.status}${end}: ${what}`;
}
