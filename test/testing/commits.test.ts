import { describe, expect, it } from 'vitest';
import { commits } from '../../testing/checker/commits.ts';
import type { Event } from '../../testing/checker/records.ts';

const STEPS = [
  { name: 'hold', effect: 'reversible' },
  { name: 'pivot', effect: 'irreversible' },
  { name: 'tail', effect: 'supersede' },
];

type Told = Readonly<Record<string, unknown>> & { readonly type: string };

function findings(...told: readonly Told[]): string[] {
  const events = [{ type: 'saga_started', steps: STEPS }, ...told].map(
    (event, index): Event => ({
      seq: index + 1,
      at: index,
      state: 'running',
      drive: 'running',
      epoch: 1,
      ...event,
    }),
  );
  const found: string[] = [];
  commits(events, found);
  return found;
}

const forward = { action: 'forward', attempt: 1, attemptNonce: 'n' };
const held = { type: 'step_committed', step: 'hold', ...forward, undo: { kind: 'inline' } };
const sent = { type: 'step_committed', step: 'pivot', ...forward, undo: null };
const cancelled = { type: 'cancel_requested' };
const undo = { type: 'step_claimed', step: 'hold', action: 'compensate' };

describe('what a commit keeps, and what it forbids', () => {
  it('is nothing where all goes well, or is undone in time', () => {
    expect(findings(held, sent, { type: 'saga_completed' })).toEqual([]);
    expect(findings(held, cancelled, undo)).toEqual([]);
  });

  it('is something for the undo of each step that has one', () => {
    expect(findings({ ...held, undo: null })).toEqual([
      '6: commit 2 of hold keeps nothing for its undo',
    ]);
    expect(findings({ ...held, undo: { kind: 'unavailable' } })).toEqual([]);
  });

  it('is no way back behind the pivot', () => {
    expect(findings(held, sent, cancelled)).toEqual([
      '10: cancel_requested 4 although the pivot had committed',
    ]);
    const late = { type: 'saga_halted', reason: 'deadline_passed' };
    expect(findings(held, sent, late)).toEqual([
      '10: saga_halted 4 although the pivot had committed',
    ]);
    const answered = { type: 'review_decided', decision: 'answer', answer: 'committed' };
    expect(findings(held, { ...answered, step: 'pivot', action: 'forward' }, undo)).toEqual([
      '10: hold is undone at 4, behind the pivot',
    ]);
  });

  it('is that a saga with a terminal fact is not completed, unless its pivot voids that', () => {
    expect(findings(held, cancelled, { type: 'saga_completed' })).toEqual([
      '3: completed at 4 although terminal fact 3 stands',
    ]);
    expect(findings(held, cancelled, sent, { type: 'saga_completed' })).toEqual([]);
  });

  it('is that a second effect is shown at the end', () => {
    const beside = { type: 'late_evidence', step: 'hold', ...forward };
    const compensated = { type: 'saga_compensated', state: 'compensated' };
    expect(findings(held, beside, cancelled, undo, compensated)).toEqual([
      '2: compensated at 6, beside the second effect known at 3',
    ]);
    const incident = { type: 'incident_opened', state: 'incident' };
    expect(findings(held, beside, cancelled, undo, incident)).toEqual([]);
  });

  it('is not that what was undone before the pivot was known comes back', () => {
    const found = findings(held, cancelled, undo, sent, undo);
    expect(found).toEqual([]);
    expect(findings(held, cancelled, undo, sent, { type: 'saga_completed' })).toEqual([
      '3: completed at 6 although terminal fact 3 stands',
    ]);
  });
});
