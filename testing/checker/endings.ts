import { type Actions, type Event, FINAL, isRecovered, nonceOf, stepsOf } from './records.ts';

/** Invariants 2, 3 and 10, as far as the ledger alone tells. */
export function endings(events: readonly Event[], actions: Actions, found: string[]): void {
  const end = events.find((event) => FINAL.includes(event.state));
  if (end === undefined) return;
  const planned = events.some((event) => event.type === 'recovery_planned');
  const kept = keptSteps(events, end);
  const adopted = adoptedSteps(events);
  checkpoint(end, events, actions, kept, found);
  for (const { name, effect } of stepsOf(events)) {
    const forward = actions.get(`${name}/forward`);
    const done = forward?.committed !== undefined && forward.committed.seq <= end.seq;
    if (end.state === 'completed') {
      if (!done && !adopted.has(name)) found.push(`3: completed without ${name}`);
      continue;
    }
    if (effect === 'read_only' || kept.has(name)) continue;
    if (end.state === 'compensated') {
      if (effect === 'irreversible' && done)
        found.push(`10: compensated although ${name} cannot be undone`);
      if (done && !isRecovered(name, end.seq, events, actions))
        found.push(`2: compensated although ${name} stands`);
    }
    doubts(name, end, events, actions, found);
  }
  if (end.state === 'compensated' && !planned) found.push('13: compensated without a plan');
}

/** Nothing is in doubt at an end, neither a step nor its undo. */
function doubts(
  name: string,
  end: Event,
  events: readonly Event[],
  actions: Actions,
  found: string[],
): void {
  const resolved = events.some(
    (event) => event.decision === 'resolve' && event.step === name && event.seq <= end.seq,
  );
  if (resolved) return;
  for (const [label, action] of actions) {
    if (action.step !== name) continue;
    const last = action.claims.filter((claim) => claim.seq <= end.seq).at(-1);
    if (last === undefined) continue;
    if (action.committed !== undefined && action.committed.seq <= end.seq) continue;
    const over = action.outcomes.get(nonceOf(last));
    const clear = over?.type === 'step_failed' || over?.answer === 'absent';
    if (!clear) found.push(`3: ${end.state} while ${label} is in doubt`);
  }
}

/** What a checkpoint keeps is done, is one moment of the declared order, and is no less than was adopted. */
function checkpoint(
  end: Event,
  events: readonly Event[],
  actions: Actions,
  kept: ReadonlySet<string>,
  found: string[],
): void {
  const adopted = adoptedSteps(events);
  if (end.state === 'compensated') {
    for (const name of adopted)
      if (!kept.has(name)) found.push(`2: ${name} was adopted, but is not kept`);
  }
  if (kept.size === 0) return;
  const closing = stepsOf(events).find((step) => step.name === end.checkpoint);
  if (closing?.checkpoint !== true)
    found.push(`2: compensated to ${String(end.checkpoint)}, which is no checkpoint`);
  for (const name of kept) {
    if (adopted.has(name)) continue;
    const committed = actions.get(`${name}/forward`)?.committed;
    if (committed === undefined || committed.seq > end.seq || committed.defect !== undefined)
      found.push(`2: checkpoint ${String(end.checkpoint)} keeps ${name}, which is not done`);
    const undone = ['compensate', 'supersede'].some(
      (action) => (actions.get(`${name}/${action}`)?.claims.length ?? 0) > 0,
    );
    if (undone)
      found.push(`2: checkpoint ${String(end.checkpoint)} keeps ${name}, which is undone`);
  }
}

/** What a checkpoint keeps when a saga goes back to it: that step, and all that had to be done before it. */
export function keptSteps(events: readonly Event[], end: Event): ReadonlySet<string> {
  const { checkpoint } = end;
  const steps = stepsOf(events);
  const kept = new Set(typeof checkpoint === 'string' ? [checkpoint] : []);
  for (const name of kept) {
    const index = steps.findIndex((step) => step.name === name);
    const before = steps[index - 1]?.name;
    const after = steps[index]?.after ?? (before === undefined ? [] : [before]);
    for (const each of after) kept.add(each);
  }
  return kept;
}

/** Steps that were done by the saga before, whose checkpoint kept them. */
export function adoptedSteps(events: readonly Event[]): ReadonlySet<string> {
  const adopted = (events[0]?.adopted ?? []) as readonly { readonly step: string }[];
  return new Set(adopted.map(({ step }) => step));
}
