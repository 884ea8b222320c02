import { type Command, canonicalJson, evolve, fold, type JsonValue, toIJson } from 'counterstep';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { genesisHash, sealEvent } from '../../statemachines/ledger/chain.ts';
import { keptSteps } from '../../statemachines/rules/checkpoint.ts';
import { FINAL_STATES, type SagaEvent } from '../../statemachines/rules/events.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import { isRecovered, isUnresolved, writes } from '../../statemachines/rules/view.ts';
import { check } from '../../testing/checker/check.ts';
import type { StoredRecord } from '../../testing/checker/records.ts';
import { Rules, type StepSpec } from '../support/saga-builder.ts';

/** Random sagas, random commands at random times: whatever is asked, the invariants hold. */

const specs: fc.Arbitrary<readonly StepSpec[]> = fc
  .tuple(
    fc.array(
      fc.record({
        effect: fc.constantFrom(
          'reversible' as const,
          'compensable' as const,
          'supersede' as const,
          'human_decision' as const,
          'reversible_with_cost' as const,
          'read_only' as const,
        ),
        dedupe: fc.constantFrom('key' as const, 'lookup' as const, 'none' as const),
        reconcile: fc.boolean(),
        wide: fc.boolean(),
        hook: fc.boolean(),
        checkpoint: fc.boolean(),
        timed: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    fc.option(fc.constantFrom('key' as const, 'lookup' as const, 'none' as const), {
      nil: undefined,
    }),
  )
  .map(([drafts, pivot]) => {
    // A checkpoint is one moment: nothing runs beside it.
    const inLine = drafts.every(({ wide }, index) => index === 0 || !wide);
    const steps: StepSpec[] = drafts.map((draft, index) => ({
      name: `s${index}`,
      effect: draft.effect,
      dedupe: draft.dedupe,
      reconcile: draft.reconcile || draft.dedupe === 'lookup',
      maxAttempts: 2,
      costMinor: 100,
      pendingForMs: 60_000,
      ...(draft.timed ? { forMs: 5_000 } : {}),
      ...(draft.hook ? { hook: true as const } : {}),
      ...(draft.wide && index > 0 ? { after: [] } : {}),
      ...(draft.checkpoint && inLine ? { checkpoint: true as const } : {}),
    }));
    if (pivot === undefined) return steps;
    const before = steps.map((step) => step.name);
    return [
      ...steps,
      { name: 'pivot', effect: 'irreversible', dedupe: pivot, after: before, maxAttempts: 2 },
      { name: 'tail', effect: 'read_only', maxAttempts: 1 },
    ];
  });

const ANYTHING = [
  'claim',
  'defer',
  'commit',
  'late',
  'fail',
  'doubt',
  'reconcile',
  'refuse',
  'mark',
  'assess',
  'settle',
  'complete',
  'grant',
  'cancel',
  'resume',
  'decide',
  'decide',
  'suggest',
  'erase',
  'rerun',
  'old-drive',
  'long-wait',
] as const;

/** One thing somebody tries. `pick` chooses step, action and kind in the state of the moment. */
const moves = fc.array(
  fc.record({
    kind: fc.oneof(
      // What a working drive does, so that runs get far; and what anybody may try at any time.
      { weight: 2, arbitrary: fc.constantFrom('next', 'next', 'outcome', 'outcome', 'drive') },
      { weight: 1, arbitrary: fc.constantFrom(...ANYTHING) },
    ),
    pick: fc.nat(1_000),
    more: fc.nat(1_000),
    waitMs: fc.nat(2_500),
  }),
  { minLength: 20, maxLength: 120 },
);

type Move = { readonly kind: string; readonly pick: number; readonly more: number };

function choose<T>(list: readonly T[], pick: number): T {
  return list[pick % list.length] as T;
}

/** The first thing a drive could do now. */
function nextClaim(rules: Rules): Command | undefined {
  for (const step of rules.saga.plan.steps) {
    const { recovery } = step;
    for (const action of ['forward', recovery?.action] as const) {
      if (action === undefined) continue;
      const claim = rules.claim(step.name, action);
      if (rules.asks(claim).kind === 'append') return claim;
      if (action === 'supersede' || action === 'contain') {
        const mark = { kind: 'mark', ...rules.drive(), step, action } as const;
        if (recovery?.call === undefined && rules.asks(mark).kind === 'append') return mark;
      }
    }
  }
  return undefined;
}

/** How the first call under way ends: mostly well. */
function nextOutcome(rules: Rules, pick: number): Command | undefined {
  for (const step of rules.state.steps.values()) {
    for (const action of [step.forward, step.recovery]) {
      if (action === undefined || !isUnresolved(action)) continue;
      const { name } = step.record;
      const kind = action.action;
      if (pick % 10 < 7) return rules.commit(name, kind);
      if (pick % 10 === 7) return rules.fail(name, 'terminal_compensate', kind);
      return pick % 10 === 8 ? rules.doubt(name, kind) : rules.told(name, 'absent', kind);
    }
  }
  return undefined;
}

function commandOf(rules: Rules, move: Move): Command | undefined {
  const { plan } = rules.saga;
  const step = choose(plan.steps, move.pick);
  const actions = [
    'forward',
    ...(step.recovery === undefined ? [] : [step.recovery.action]),
  ] as const;
  const action = choose(actions, move.more);
  const { name } = step;
  const answers = ['absent', 'pending', 'unknown'] as const;
  switch (move.kind) {
    case 'next':
      return nextClaim(rules);
    case 'outcome':
      return nextOutcome(rules, move.more);
    case 'drive': {
      if (rules.state.drive === 'parked') return { kind: 'grant', reason: 'due' };
      const end = rules.complete();
      if (rules.asks(end).kind === 'append') return end;
      const planned = rules.state.plan !== undefined && rules.state.halt !== undefined;
      return planned && move.more % 3 > 0 ? rules.settle() : rules.assess();
    }
    case 'claim':
      return rules.claim(name, action);
    case 'defer':
      return { ...rules.claim(name, action), kind: 'defer', until: rules.now + move.more * 20 };
    case 'old-drive':
      return rules.claim(name, action, { epoch: rules.state.epoch - 1 });
    case 'commit':
      return rules.attempt(name, action).attempt === 0 ? undefined : rules.commit(name, action);
    case 'late': {
      const claims = rules.events.flatMap((event) =>
        event.type === 'step_claimed' && event.step === name && event.action === action
          ? [event]
          : [],
      );
      if (claims.length === 0) return undefined;
      const { attempt, attemptNonce } = choose(claims, move.more);
      const externalIds = { id: `late-${move.more}` };
      return rules.commit(name, action, { attempt, attemptNonce, externalIds });
    }
    case 'fail': {
      const classes = ['retryable', 'terminal_compensate', 'terminal_hold'] as const;
      return rules.fail(name, choose(classes, move.pick + move.more), action, move.more);
    }
    case 'doubt':
      return rules.doubt(name, action);
    case 'reconcile':
      return rules.told(name, choose(answers, move.more), action);
    case 'refuse':
      return {
        kind: 'refuse',
        ...rules.drive(),
        step: name,
        action,
        failure: 'terminal_hold',
        code: 'x',
        message: 'x',
      };
    case 'mark':
      return action === 'supersede' || action === 'contain'
        ? { kind: 'mark', ...rules.drive(), step, action }
        : undefined;
    case 'assess':
      return rules.assess();
    case 'settle':
      return rules.settle();
    case 'complete':
      return rules.complete();
    case 'grant':
      return { kind: 'grant', reason: move.more % 2 === 0 ? 'due' : 'restart' };
    case 'cancel':
      if (move.more % 8 > 0) return undefined;
      return { kind: 'cancel', reason: 'x', ...(move.pick % 2 === 0 ? { everything: true } : {}) };
    case 'rerun':
      return { kind: 'rerun', saga: `next-${move.more % 2}` };
    case 'resume':
      return { kind: 'resume' };
    case 'suggest':
      return { kind: 'suggest', suggestion: { kind: 'inline', value: move.more } };
    case 'erase':
      return { kind: 'erase', reason: 'x' };
    case 'decide': {
      const decisions: readonly Command[] = [
        rules.decision({ decision: 'retry' }),
        rules.decision({ decision: 'recover' }),
        rules.decision({ decision: 'recover', everything: true }),
        rules.decision({ decision: 'reject' }),
        rules.decision({ decision: 'resolve', step: name, evidence: 'x' }),
        rules.answer(name, action, 'committed'),
        rules.answer(name, action, 'absent'),
        rules.decision({ decision: 'close', evidence: 'x' }),
        rules.decision({
          decision: 'approve',
          planHash: rules.state.plan?.hash ?? '',
          maxCost: { costMinor: 10_000, currency: 'EUR' },
        }),
      ];
      return choose(decisions, move.pick + move.more);
    }
    default:
      return undefined;
  }
}

function json(value: unknown): string {
  return canonicalJson(toIJson(value) as JsonValue);
}

function holds(before: SagaState, event: SagaEvent, after: SagaState): void {
  expect(event.seq).toBe(before.seq + 1);
  expect(event.at).toBeGreaterThanOrEqual(before.at);
  expect([before.epoch, before.epoch + 1]).toContain(event.epoch);
  if (event.epoch > before.epoch) expect(event.drive).toBe('running');
  const wasFinal = FINAL_STATES.includes(before.status);
  if (wasFinal && event.state !== before.status) {
    expect([event.type, event.state]).toEqual(['late_evidence', 'incident']);
  }
  expect(event.dueAt === undefined).toBe(FINAL_STATES.includes(event.state));
  // Advice neither hurries nor delays; all else is due from now on.
  if (event.type === 'suggestion_recorded') expect(event.dueAt).toBe(before.dueAt);
  else if (event.dueAt !== undefined) expect(event.dueAt).toBeGreaterThanOrEqual(event.at);
  expect(
    after.halt === undefined ||
      before.halt === undefined ||
      after.halt.seq === before.halt.seq ||
      after.halt.afterPivot ||
      before.halt.afterPivot,
  ).toBe(true);
  if (event.type === 'saga_compensated') {
    const kept = keptSteps(before);
    expect(event.checkpoint).toBe(before.plan?.checkpoint);
    expect(kept.size > 0).toBe(event.checkpoint !== undefined);
    for (const step of after.steps.values()) {
      if (kept.has(step.record.name)) expect(step.recovery, step.record.name).toBeUndefined();
      if (!writes(step.record.effect) || kept.has(step.record.name)) continue;
      expect(isRecovered(step), step.record.name).toBe(true);
      expect(step.record.effect === 'irreversible' && step.forward.status === 'done').toBe(false);
      const open = isUnresolved(step.forward) && step.resolved === undefined;
      expect(open, `${step.record.name} is open`).toBe(false);
    }
  }
  if (event.type === 'step_claimed') {
    expect([before.drive, before.epoch]).toEqual(['running', event.epoch]);
    expect(before.unreadable).toBeUndefined();
    const step = before.steps.get(event.step);
    if (event.action === 'forward') expect(before.halt).toBeUndefined();
    else expect(step?.forward.status).toBe('done');
  }
}

const limits = fc.record({
  deadline: fc.boolean(),
  ceiling: fc.boolean(),
  budget: fc.boolean(),
});

/** What the search has to come by, before it counts. */
const REACHED = [
  'saga_completed',
  'saga_compensated',
  'review_opened',
  'recovery_planned',
  'saga_halted',
  'needs_review',
  'payloads_erased',
  'rerun_claimed',
  'to a checkpoint',
  'step_deferred',
  'breaker',
] as const;

it('holds the invariants whatever is asked', () => {
  const seen = new Map<string, number>();
  // A search that never gets anywhere proves nothing, and chance may need more than one to get everywhere.
  const missing = (): string[] => REACHED.filter((each) => !seen.has(each));
  for (let rounds = 0; rounds < 20 && (rounds === 0 || missing().length > 0); rounds += 1) {
    fc.assert(
      fc.property(specs, moves, limits, (steps, tried, { deadline, ceiling, budget }) => {
        const rules = new Rules(steps, {
          ...(deadline ? { deadlineMs: 30_000 } : {}),
          ...(budget ? { budget: { attempts: steps.length + 1 } } : {}),
          ...(ceiling ? { recovery: { ceiling: { costMinor: 150, currency: 'EUR' } } } : {}),
        });
        for (const move of tried) {
          rules.wait(move.waitMs);
          if (move.kind === 'long-wait') rules.now = Math.max(rules.now, rules.state.dueAt ?? 0);
          const command = commandOf(rules, move);
          if (command === undefined) continue;
          const before = rules.state;
          const verdict = rules.asks(command);
          if (verdict.kind !== 'append') continue;
          // What the writer goes on with is what any reader will fold.
          const read = JSON.parse(json(verdict.event)) as SagaEvent;
          expect(describeState(evolve(before, read))).toBe(describeState(verdict.after));
          rules.applies(verdict.event);
          seen.set(verdict.event.type, (seen.get(verdict.event.type) ?? 0) + 1);
          seen.set(verdict.event.state, (seen.get(verdict.event.state) ?? 0) + 1);
          if ('reason' in verdict.event && verdict.event.reason !== undefined) {
            seen.set(verdict.event.reason, (seen.get(verdict.event.reason) ?? 0) + 1);
          }
          if ('checkpoint' in verdict.event) seen.set('to a checkpoint', 1);
          holds(before, verdict.event, rules.state);
        }
        expect(describeState(fold(rules.events))).toBe(describeState(rules.state));
        expect(check(LEDGER, sealed(rules.events))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  }
  expect(missing(), 'never reached').toEqual([]);
});

const LEDGER = { tenant: 'acme', sagaId: 'saga-1' };

function sealed(events: readonly SagaEvent[]): StoredRecord[] {
  let prev = genesisHash(LEDGER.tenant, LEDGER.sagaId);
  return events.map((event) => {
    const record = sealEvent(prev, event);
    prev = record.hash;
    return record;
  });
}

function describeState(state: SagaState | undefined): string {
  return json(state === undefined ? null : { ...state, steps: [...state.steps.values()] });
}
