import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import type { ReviewDecision } from '../../statemachines/rules/commands.ts';
import type { Action } from '../../statemachines/rules/events.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import { isFinal, isUnresolved } from '../../statemachines/rules/view.ts';
import type { PartnerFacts } from '../support/checker.ts';
import type { VirtualPlane } from '../support/virtual-plane.ts';

/** Looks in once a minute, reads the partners' own records, and answers what the open review asks. */
export async function answerAsAPerson(
  plane: VirtualPlane,
  id: LedgerId,
  partners: () => readonly PartnerFacts[],
): Promise<void> {
  for (;;) {
    await plane.time.world.sleep(60_000);
    const state = plane.state(id);
    if (state === undefined || isFinal(state)) return;
    const { review } = state;
    if (review === undefined) continue;
    const decision = decisionOn(state, partners());
    await plane.insist((engine) =>
      engine.ledger.write(id, { kind: 'decide', review: review.id, decision }, { actor: 'ada' }),
    );
  }
}

function decisionOn(state: SagaState, partners: readonly PartnerFacts[]): ReviewDecision {
  for (const name of state.review?.steps ?? []) {
    const step = state.steps.get(name);
    for (const action of [step?.forward, step?.recovery]) {
      if (action === undefined || !isUnresolved(action)) continue;
      return answer(name, action.action, action.attempt?.correlationId, partners);
    }
  }
  return { decision: 'retry' };
}

function answer(
  step: string,
  action: Action,
  correlationId: string | undefined,
  partners: readonly PartnerFacts[],
): ReviewDecision {
  const evidence = "seen in the partner's records";
  const effect = partners
    .flatMap((partner) => partner.effects)
    .find((each) => each.correlationId === correlationId);
  if (effect === undefined) {
    return { decision: 'answer', step, action, answer: 'absent', evidence };
  }
  const { id } = effect;
  const results = {
    stock: {
      result: { reservationId: id, quantity: 1 },
      undo: { reservationId: id },
    },
    credit: {
      result: { creditNoteId: id, amountMinor: 1_250, currency: 'EUR' },
      undo: { creditNoteId: id, reason: 'not completed' },
    },
    email: { result: { messageId: id }, undo: undefined },
  };
  const { result, undo } = results[step as keyof typeof results];
  return {
    decision: 'answer',
    step,
    action,
    answer: 'committed',
    evidence,
    ...(action === 'forward' ? { result: { kind: 'inline', value: result } } : {}),
    ...(action === 'forward' && undo !== undefined
      ? { undo: { kind: 'inline', value: undo } }
      : {}),
  };
}
