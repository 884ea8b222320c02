import { type Event, stepsOf } from './records.ts';
import { standsAtOnce } from './recovery.ts';

/** Ends that say that all is well. */
const QUIET_ENDS = ['completed', 'compensated'];

/** What a commit keeps for its undo, and what it forbids from then on: invariants 2, 3, 6 and 10. */
export function commits(events: readonly Event[], found: string[]): void {
  const effects = new Map(stepsOf(events).map((step) => [step.name, step.effect]));
  let pivot: Event | undefined;
  let terminal: Event | undefined;
  let beside: Event | undefined;
  let undone = false;
  for (const event of events) {
    const { seq } = event;
    const name = String(event.step);
    const effect = effects.get(name) ?? '';
    if (event.type === 'step_committed' && event.action === 'forward' && lacksUndo(event, effect))
      found.push(`6: commit ${seq} of ${name} keeps nothing for its undo`);
    if (effect === 'irreversible' && isForwardCommit(event)) {
      pivot = event;
      // A terminal fact from before it was known is void, unless something was undone by then.
      if (!undone) terminal = undefined;
    }
    if (event.type === 'late_evidence') beside = event;
    if (beside !== undefined && QUIET_ENDS.includes(event.state))
      found.push(`2: ${event.state} at ${seq}, beside the second effect known at ${beside.seq}`);
    if (pivot !== undefined && givesUp(event))
      found.push(`10: ${event.type} ${seq} although the pivot had committed`);
    if (pivot !== undefined && isUndo(event) && !undone)
      found.push(`10: ${name} is undone at ${seq}, behind the pivot`);
    if (terminal !== undefined && event.type === 'saga_completed')
      found.push(`3: completed at ${seq} although terminal fact ${terminal.seq} stands`);
    undone ||= isUndo(event) || event.decision === 'resolve';
    if (terminal === undefined && standsAtOnce(event, events)) terminal = event;
  }
}

/** It may keep why there is nothing to undo, or why its arguments could not be built; never nothing. */
function lacksUndo(event: Event, effect: string): boolean {
  const undoable = ['reversible', 'reversible_with_cost', 'compensable'].includes(effect);
  return undoable && (typeof event.undo !== 'object' || event.undo === null);
}

function isForwardCommit(event: Event): boolean {
  if (event.action !== 'forward') return false;
  return (
    event.type === 'step_committed' || (event.decision === 'answer' && event.answer === 'committed')
  );
}

function isUndo(event: Event): boolean {
  const undoes = event.action === 'compensate' || event.action === 'supersede';
  return event.type === 'step_claimed' && undoes;
}

/** From outside, or by the clock. A person who looks may still ask for what cannot be undone to be contained. */
function givesUp(event: Event): boolean {
  const late = event.type === 'saga_halted' && event.reason === 'deadline_passed';
  return late || event.type === 'cancel_requested';
}
