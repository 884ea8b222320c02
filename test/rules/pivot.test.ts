import { describe, expect, it } from 'vitest';
import { AFTER_PIVOT_ATTEMPTS, SKEW_MS } from '../../statemachines/rules/protocol.ts';
import { Rules, SETTLE_MS, type StepSpec, TIMEOUT_MS } from '../support/saga-builder.ts';

const MAIL: readonly StepSpec[] = [
  { name: 'hold' },
  { name: 'mail', effect: 'irreversible', dedupe: 'lookup' },
  { name: 'note', effect: 'read_only' },
];

const cancel = { kind: 'cancel', reason: 'no' } as const;

describe('the pivot', () => {
  it('in doubt lets nothing but itself be recovered', () => {
    const rules = new Rules(MAIL).done('hold').lost('mail');
    rules.does(cancel);
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({
      type: 'recovery_planned',
      plan: {
        entries: [
          { step: 'mail', action: 'contain', conditional: true, mark: true },
          { step: 'hold', action: 'compensate', after: ['mail'] },
        ],
      },
    });
    expect(rules.refuses(rules.claim('hold', 'compensate'))).toEqual({ reason: 'not_ready' });
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({
      type: 'drive_parked',
      reason: 'provider',
      state: 'compensating',
    });
  });

  it('that turns out absent lets recovery go on', () => {
    const rules = new Rules(MAIL).done('hold').lost('mail');
    rules.does(cancel);
    rules.does(rules.assess());
    rules.wait(SETTLE_MS + SKEW_MS);
    rules.does(rules.told('mail', 'absent'));
    rules.undone('hold');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('that turns out committed makes the terminal fact void, and the saga goes forward', () => {
    const rules = new Rules(MAIL).done('hold').lost('mail');
    rules.does(cancel);
    rules.does(rules.assess());
    rules.does(rules.commit('mail'));
    expect(rules.state).toMatchObject({ halt: undefined, plan: undefined, status: 'running' });
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({ type: 'drive_granted', reason: 'next', epoch: 2 });
    rules.done('note');
    expect(rules.does(rules.complete())).toMatchObject({ type: 'saga_completed' });
  });

  it('that turns out committed after something was undone is an incident', () => {
    const rules = new Rules(MAIL).done('hold').lost('mail');
    const late = rules.commit('mail');
    rules.wait(SETTLE_MS + SKEW_MS);
    rules.does(rules.told('mail', 'absent'));
    rules.does(cancel);
    rules.does(rules.assess());
    rules.undone('hold');
    rules.does(late);
    expect(rules.state.halt).toMatchObject({ reason: 'cancelled' });
    rules.does(rules.settle());
    rules.does(rules.assess());
    rules.does({ kind: 'mark', ...rules.drive(), step: rules.step('mail'), action: 'contain' });
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'incident_opened',
      reason: 'pivot_committed',
      steps: ['mail'],
      state: 'incident',
    });
  });

  it('once committed, refuses cancel and outlives the deadline (invariant 10)', () => {
    const rules = new Rules(MAIL, { deadlineMs: 10_000 }).done('hold', 'mail');
    expect(rules.refuses(cancel)).toMatchObject({ reason: 'conflict' });
    rules.wait(10_000);
    rules.done('note');
    expect(rules.does(rules.complete())).toMatchObject({ type: 'saga_completed' });
  });

  it('makes a later failure an incident, with what came before it left standing', () => {
    const rules = new Rules(MAIL).done('hold', 'mail').refused('note');
    expect(rules.state.halt).toMatchObject({ afterPivot: true });
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({
      type: 'recovery_planned',
      plan: { entries: [{ step: 'mail', action: 'contain', mark: true }] },
    });
    expect(rules.refuses(rules.claim('hold', 'compensate'))).toEqual({ reason: 'not_planned' });
    rules.does({ kind: 'mark', ...rules.drive(), step: rules.step('mail'), action: 'contain' });
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'incident_opened',
      reason: 'pivot_committed',
    });
  });

  it('is contained by its hook before the incident', () => {
    const steps: StepSpec[] = [
      { name: 'mail', effect: 'irreversible', hook: true },
      { name: 'note', effect: 'read_only' },
    ];
    const rules = new Rules(steps).done('mail').refused('note');
    rules.does(rules.assess());
    expect(rules.asks(rules.settle())).not.toMatchObject({ event: { type: 'incident_opened' } });
    rules.undone('mail');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'incident_opened' });
  });

  it('whose hook fails beyond repair is asked about before it is tried again', () => {
    const steps: StepSpec[] = [
      { name: 'mail', effect: 'irreversible', hook: true, dedupe: 'lookup' },
      { name: 'note', effect: 'read_only' },
    ];
    const rules = new Rules(steps).done('mail').refused('note');
    rules.does(rules.assess());
    rules.does(rules.claim('mail', 'contain'));
    rules.does(rules.fail('mail', 'irreversible_incident', 'contain'));
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'recovery_failed' });
    rules.does({ kind: 'resume' });
    expect(rules.refuses(rules.claim('mail', 'contain'))).toEqual({ reason: 'in_doubt' });
    expect(rules.state.steps.get('mail')?.recovery).toMatchObject({ round: 1 });
  });

  it('with an answer that does not fit its schema is contained too', () => {
    const rules = new Rules(MAIL).done('hold');
    rules.does(rules.claim('mail'));
    const defect = { code: 'output_deviates', message: 'no' };
    rules.does(rules.commit('mail', 'forward', { defect }));
    expect(rules.state.halt).toMatchObject({
      reason: 'output_refused',
      step: 'mail',
      afterPivot: true,
    });
  });

  it('committed beside a read whose answer is unusable ends in an incident, not in a standstill', () => {
    const rules = new Rules([
      { name: 'mail', effect: 'irreversible', dedupe: 'lookup' },
      { name: 'look', effect: 'read_only', after: [] },
      { name: 'last', effect: 'read_only', after: ['mail', 'look'] },
    ]).lost('mail');
    rules.does(rules.claim('look'));
    rules.does(
      rules.commit('look', 'forward', { defect: { code: 'output_deviates', message: '' } }),
    );
    rules.does(rules.assess());
    rules.does(rules.commit('mail'));
    expect(rules.state.halt).toMatchObject({ afterPivot: true });
    rules.does(rules.assess());
    rules.does({ kind: 'mark', ...rules.drive(), step: rules.step('mail'), action: 'contain' });
    expect(rules.does(rules.settle())).toMatchObject({ type: 'incident_opened' });
  });

  it('reopens a read beside it that was refused, when it makes the refusal void', () => {
    const rules = new Rules([
      { name: 'mail', effect: 'irreversible', dedupe: 'lookup' },
      { name: 'look', effect: 'read_only', after: [] },
    ])
      .lost('mail')
      .refused('look');
    rules.does(rules.assess());
    rules.does(rules.commit('mail'));
    expect(rules.state.steps.get('look')?.forward).toMatchObject({
      status: 'retrying',
      spent: 0,
      round: 2,
    });
  });
});

describe('a step behind the pivot', () => {
  it('goes on far beyond its ordinary budget, then asks a person instead of undoing', () => {
    const rules = new Rules([
      { name: 'mail', effect: 'irreversible' },
      { name: 'note', effect: 'read_only', maxAttempts: 1 },
    ]).done('mail');
    let claims = 0;
    while (rules.asks(rules.claim('note')).kind === 'append') {
      rules.does(rules.claim('note'));
      rules.does(rules.fail('note', 'retryable', 'forward', 0));
      claims += 1;
      if (claims > 1_000) throw new Error('no end');
    }
    expect(claims).toBe(AFTER_PIVOT_ATTEMPTS);
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'after_pivot',
      steps: ['note'],
    });
    expect(rules.state.halt).toBeUndefined();
    rules.does(rules.decision({ decision: 'retry' }));
    expect(rules.asks(rules.claim('note')).kind).toBe('append');
  });
});

describe('the timing of a pivot in doubt', () => {
  it('is looked at when its provider is asked next', () => {
    const rules = new Rules(MAIL).done('hold');
    rules.does(rules.claim('mail'));
    rules.wait(TIMEOUT_MS);
    rules.does(rules.doubt('mail', 'forward', 'pending'));
    const askAt = rules.state.steps.get('mail')?.forward.askAt;
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'drive_parked', reason: 'provider', dueAt: askAt });
  });
});
