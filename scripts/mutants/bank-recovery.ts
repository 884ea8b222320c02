import type { Mutant } from './mutant.ts';

/** Recovery: when it may begin, what it owes, in which order, and when it is over. */
export const recoveryMutants: readonly Mutant[] = [
  {
    name: 'barrier-skipped',
    why: 'a recovery is claimed while its forward call is in doubt',
    invariant: 5,
    edits: [
      {
        file: 'statemachines/rules/recovery-gate.ts',
        find: `if (isUnresolved(step.forward)) return { reason: 'in_doubt' };
  if (!hasEffect(step) || isRecovered(step)) return { reason: 'not_required' };`,
        replace: `if (isUnresolved(step.forward)) return undefined;
  if (!hasEffect(step) || isRecovered(step)) return { reason: 'not_required' };`,
      },
      {
        file: 'lambdas/tool/runtime.ts',
        find: 'if (isUnresolved(step.forward)) {',
        replace: 'if (isLive(step.forward, this.#host.clock.now())) {',
      },
    ],
  },
  {
    name: 'never-committed-recovered',
    why: 'what is known not to have happened is recovered',
    invariant: 5,
    edits: [
      {
        file: 'statemachines/rules/recovery-gate.ts',
        find: 'if (!hasEffect(step) || isRecovered(step))',
        replace: 'if (hasEffect(step) && isRecovered(step))',
      },
    ],
  },
  {
    name: 'catch-is-proof',
    why: 'a drive that stopped counts as a failure, without a terminal fact',
    invariant: 13,
    edits: [
      {
        file: 'statemachines/rules/drive.ts',
        find: '  return again(state, plan.reviewMs, context);',
        replace: `  const step = open[0]?.record.name ?? '';
  return append(state, { type: 'saga_halted', reason: 'attempts_spent', step }, context);`,
      },
    ],
  },
  {
    name: 'hold-is-terminal',
    why: 'a step that asks for a person is undone at once',
    invariant: 13,
    edits: [
      {
        file: 'statemachines/rules/evolve-steps.ts',
        find: "(event.failure === 'terminal_compensate' || event.failure === 'irreversible_incident')",
        replace: "event.failure !== 'retryable'",
      },
    ],
  },
  {
    name: 'plan-order-ignored',
    why: 'a recovery does not wait for those before it in the plan',
    invariant: 13,
    edits: [
      {
        file: 'statemachines/rules/recovery-gate.ts',
        find: "return ready ? undefined : { reason: 'not_ready' };",
        replace: "return ready || entry.step !== '' ? undefined : { reason: 'not_ready' };",
      },
    ],
  },
  {
    name: 'pivot-in-doubt-ignored',
    why: 'other steps are undone while nobody knows whether the pivot committed',
    invariant: 10,
    edits: [
      {
        file: 'statemachines/rules/recovery-gate.ts',
        find: 'if (pivot !== undefined && pivot.record.name !== entry.step)',
        replace: "if (pivot !== undefined && pivot.record.name === '')",
      },
    ],
  },
  {
    name: 'undone-behind-the-pivot',
    why: 'steps before a pivot that committed are undone',
    invariant: 10,
    edits: [
      {
        file: 'statemachines/rules/recovery-plan.ts',
        find: `plan: SagaPlan): RecoveryPlan {
  const contained = pivotCommitted(state);`,
        replace: `plan: SagaPlan): RecoveryPlan {
  const contained = pivotCommitted(state) && state.halt === undefined;`,
      },
    ],
  },
  {
    name: 'checkpoint-undone',
    why: 'what a checkpoint keeps is undone',
    invariant: 2,
    edits: [
      {
        file: 'statemachines/rules/recovery-plan.ts',
        find: '  if (kept.has(name)) return false;\n',
        replace: '',
      },
    ],
  },
  {
    name: 'undo-computed-anew',
    why: "an undo's arguments are computed again, not taken from the commit",
    invariant: 6,
    edits: [
      {
        file: 'lambdas/tool/arguments.ts',
        find: 'value: await loadArguments(stores, request, undo, contract.compensate?.input, name),',
        replace: `value: contract.compensate?.from({
      input: await loadArguments(stores, request, step.forward.args!, contract.input, name),
      output: await loadArguments(stores, request, step.forward.commit!.result!, undefined, name),
    }),`,
      },
    ],
  },
  {
    name: 'recovery-on-the-forward-budget',
    why: 'tries that went forward are missing to recovery',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/claim.ts',
        find: "if (own !== undefined || command.action !== 'forward') return own;",
        replace: 'if (own !== undefined) return own;',
      },
    ],
  },
  {
    name: 'compensated-with-open-recoveries',
    why: 'compensated is reported while a recovery is missing or failed',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/settle.ts',
        find: 'if (open.length === 0 && !undecided)',
        replace: 'if (!undecided)',
      },
    ],
  },
  {
    name: 'compensated-in-doubt',
    why: 'compensated is reported while a step is in doubt',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/settle.ts',
        find: 'if (open.length === 0 && !undecided)',
        replace: 'if (open.length === 0)',
      },
      {
        file: 'statemachines/rules/view.ts',
        find: '  if (isUnresolved(step.forward) && step.resolved === undefined) return false;\n',
        replace: '',
      },
    ],
  },
  {
    name: 'compensated-beside-a-second-effect',
    why: 'compensated is reported although a second effect of a step became known',
    invariant: 2,
    edits: [
      {
        file: 'statemachines/rules/settle.ts',
        find: 'if (extra.length > 0) return',
        replace: 'if (extra.length < 0) return',
      },
    ],
  },
  {
    name: 'compensated-past-the-pivot',
    why: 'a saga whose pivot committed is called compensated, with no incident',
    invariant: 10,
    edits: [
      {
        file: 'statemachines/rules/settle.ts',
        find: 'if (!pivotCommitted(state)) {',
        replace: 'if (state.halt !== undefined) {',
      },
    ],
  },
  {
    name: 'broken-pivot-hushed',
    why: 'a pivot that failed beyond repair opens no incident',
    invariant: 10,
    edits: [
      {
        file: 'statemachines/rules/settle.ts',
        find: 'if (broken.length > 0) return append(state, irreversibleIncident(broken), context);',
        replace:
          "if (broken.length > 0) return append(state, { type: 'saga_compensated' }, context);",
      },
    ],
  },
  {
    name: 'ceiling-ignored',
    why: 'recovery costs more than its ceiling, and nobody is asked',
    invariant: 13,
    edits: [
      {
        file: 'statemachines/rules/recovery-gate.ts',
        find: 'return allowed !== undefined && recoveryCostMinor(state) > allowed;',
        replace: 'return allowed !== undefined && recoveryCostMinor(state) < 0;',
      },
    ],
  },
  {
    name: 'overshoot-uncounted',
    why: 'what an undo cost beyond its estimate is missing from what is left for the others',
    invariant: 13,
    edits: [
      {
        file: 'statemachines/rules/recovery-gate.ts',
        find: '(counts ? told : reserved)?.costMinor',
        replace: 'reserved?.costMinor',
      },
    ],
  },
  {
    name: 'untold-cost-is-free',
    why: 'an undo of which nobody told what it cost counts as one that cost nothing',
    invariant: 13,
    edits: [
      {
        file: 'statemachines/rules/recovery-gate.ts',
        find: '(counts ? told : reserved)?.costMinor',
        replace: 'told?.costMinor',
      },
    ],
  },
  {
    name: 'any-plan-approved',
    why: 'what a person allowed for one plan counts for every later one',
    invariant: 13,
    edits: [
      {
        file: 'statemachines/rules/recovery-gate.ts',
        find: 'approval?.planHash === plan.hash ? approval.maxCost.costMinor : 0,',
        replace: 'approval !== undefined ? approval.maxCost.costMinor : 0,',
      },
    ],
  },
  {
    name: 'contain-never-called',
    why: 'a pivot that can be contained is only marked as contained',
    invariant: 13,
    edits: [
      {
        file: 'statemachines/rules/recovery-plan.ts',
        find: `action: 'contain',
      ...(planned?.recovery?.call === undefined ? { mark: true as const } : {}),`,
        replace: `action: 'contain',
      mark: true,`,
      },
    ],
  },
  {
    name: 'undo-never-retried',
    why: 'an undo that surely did nothing is not tried again, and goes to a person',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/evolve-steps.ts',
        find: "status: final ? 'failed' : 'retrying',",
        replace: "status: final || event.action !== 'forward' ? 'failed' : 'retrying',",
      },
    ],
  },
  {
    name: 'recovery-cancelled',
    why: 'a cancel is written down although recovery is under way',
    invariant: 13,
    edits: [
      {
        file: 'statemachines/rules/outside.ts',
        find: `  if (state.halt !== undefined) {
    return conflict('recovery is under way already, and recovery is never cancelled');
  }
`,
        replace: '',
      },
    ],
  },
  {
    name: 'final-cancelled',
    why: 'a cancel is written down although the saga is over',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/outside.ts',
        find: `  if (isFinal(state))
    return conflict(\`the saga is \${state.status}; what is final is not cancelled\`);
`,
        replace: '',
      },
    ],
  },
];
