import type { Mutant } from './mutant.ts';

/** Claims, attempts, outcomes and keys: what keeps an effect from happening twice, or unseen. */
export const claimMutants: readonly Mutant[] = [
  {
    name: 'undo-not-registered',
    why: "a commit is recorded without its undo's arguments",
    invariant: 6,
    edits: [
      {
        file: 'lambdas/tool/values.ts',
        find: 'undo: await undoArguments(stores, id, tool, args, read.value),',
        replace: 'undo: null,',
      },
    ],
  },
  {
    name: 'claim-not-awaited',
    why: 'the call is made before its claim stands',
    invariant: 9,
    edits: [
      {
        file: 'lambdas/runtime/saga-ledger.ts',
        find: 'const result = await this.#host.stores.ledger.append(id, record);',
        replace: `const appending = this.#host.stores.ledger.append(id, record);
    appending.catch(() => {});
    const result =
      event.type === 'step_claimed' ? ({ kind: 'appended' } as const) : await appending;`,
      },
    ],
  },
  {
    name: 'lost-append-forgotten',
    why: 'a writer does not know its own event again after a lost answer',
    invariant: 7,
    edits: [
      {
        file: 'lambdas/runtime/saga-ledger.ts',
        find: 'head?.recent.find((entry) => entry.nonce === nonce)',
        replace: 'undefined as FoldedHead["recent"][number] | undefined',
      },
    ],
  },
  {
    name: 'twins-share-an-attempt',
    why: "an event that another writer put in one's place is taken for one's own",
    invariant: 7,
    edits: [
      {
        file: 'lambdas/runtime/saga-ledger.ts',
        find: "result.kind === 'conflict' && result.standing.nonce !== nonce",
        replace: "result.kind === 'conflict' && result.standing.nonce === ''",
      },
    ],
  },
  {
    name: 'attempt-nonce-ignored',
    why: "an older attempt's outcome ends a newer attempt",
    invariant: 7,
    edits: [
      {
        file: 'statemachines/rules/outcome.ts',
        find: 'action.attempt?.nonce === attemptNonce && isUnresolved(action)',
        replace: "attemptNonce !== '' && isUnresolved(action)",
      },
    ],
  },
  {
    name: 'lease-ignored',
    why: 'a step whose attempt lives is claimed again',
    invariant: 7,
    edits: [
      {
        file: 'statemachines/rules/view.ts',
        find: 'now < action.attempt.leaseUntil + SKEW_MS',
        replace: 'now < action.attempt.claimedAt',
      },
    ],
  },
  {
    name: 'lease-without-skew',
    why: 'a lease counts as over before the clock of its holder says so',
    invariant: 7,
    edits: [
      {
        file: 'statemachines/rules/view.ts',
        find: 'now < action.attempt.leaseUntil + SKEW_MS',
        replace: 'now < action.attempt.leaseUntil',
      },
    ],
  },
  {
    name: 'stale-epoch-claims',
    why: 'a drive that was replaced goes on claiming',
    invariant: 7,
    edits: [
      {
        file: 'statemachines/rules/claim.ts',
        find: "state.drive !== 'running' || state.epoch !== command.epoch",
        replace: "state.drive !== 'running'",
      },
    ],
  },
  {
    name: 'resend-without-key',
    why: 'a call in doubt is sent again to a provider that cannot recognise repeats',
    invariant: 4,
    edits: [
      {
        file: 'statemachines/rules/doubt.ts',
        find: "if (dedupe === 'key' && mayResend)",
        replace: 'if (mayResend)',
      },
    ],
  },
  {
    name: 'claimed-after-a-terminal-fact',
    why: 'a step is claimed forward although a terminal fact stands',
    invariant: 5,
    edits: [
      {
        file: 'statemachines/rules/claim.ts',
        find: "if (state.halt !== undefined) return { reason: 'halted' };",
        replace: '',
      },
    ],
  },
  {
    name: 'forgotten-key-trusted',
    why: 'a key counts after the time for which its provider remembers it',
    invariant: 4,
    edits: [
      {
        file: 'statemachines/rules/doubt.ts',
        find: 'now < action.roundSince + call.keyTtlMs',
        replace: 'now >= action.roundSince',
      },
    ],
  },
  {
    name: 'timeout-means-nothing-happened',
    why: 'a call that was not answered in time counts as not made',
    invariant: 4,
    edits: [
      {
        file: 'lambdas/tool/attempt.ts',
        find: "job.tool.contract.effect === 'read_only' ? 'retryable' : 'ambiguous'",
        replace: "job.tool.contract.effect === 'read_only' ? 'retryable' : 'retryable'",
      },
    ],
  },
  {
    name: 'no-answer-means-absent',
    why: 'a question that failed counts as the answer "absent"',
    invariant: 4,
    edits: [
      {
        file: 'lambdas/tool/ask.ts',
        find: "...error });\n    return { kind: 'unknown' };",
        replace: "...error });\n    return { kind: 'absent' };",
      },
    ],
  },
  {
    name: 'absent-inside-settle-window',
    why: '"absent" is believed while the call may still land',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/outcome.ts',
        find: "command.answer === 'absent' && settled",
        replace: "command.answer === 'absent'",
      },
    ],
  },
  {
    name: 'settle-window-without-skew',
    why: 'the settle window ends by a clock that may be ahead',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/doubt.ts',
        find: 'action.suspectUntil ?? 0) + SKEW_MS',
        replace: 'action.suspectUntil ?? 0)',
      },
    ],
  },
  {
    name: 'person-answers-too-early',
    why: 'a person\'s "absent" is taken while the call may still land',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/outside.ts',
        find: 'return now < until ? [until] : [];',
        replace: 'return now < 0 ? [until] : [];',
      },
    ],
  },
  {
    name: 'refusal-clears-the-first-call',
    why: 'a refusal of the second call is taken as word about the first one',
    invariant: 2,
    edits: [
      {
        file: 'statemachines/rules/evolve-steps.ts',
        find: 'return current.attempt.claimedAt < settledAt ? settledAt : undefined;',
        replace: 'return undefined;',
      },
    ],
  },
  {
    name: 'round-raised-by-doubt',
    why: 'a call in doubt gets another key',
    invariant: 9,
    edits: [
      {
        file: 'statemachines/rules/evolve-steps.ts',
        find: "status: 'in_doubt',\n    askAt: event.askAt,",
        replace: "status: 'in_doubt',\n    round: current.round + 1,\n    askAt: event.askAt,",
      },
    ],
  },
  {
    name: 'key-per-attempt',
    why: 'each attempt has a key of its own',
    invariant: 9,
    edits: [
      {
        file: 'statemachines/rules/claim.ts',
        find: 'idempotencyKeyOf(sagaId, step.name, command.action, action.round)',
        replace: 'idempotencyKeyOf(sagaId, step.name, command.action, action.attempts + 1)',
      },
    ],
  },
  {
    name: 'correlation-id-per-attempt',
    why: 'the correlation id changes between attempts',
    invariant: 9,
    edits: [
      {
        file: 'statemachines/rules/claim.ts',
        find: 'correlationIdOf(sagaId, step.name, command.action)',
        replace: 'correlationIdOf(sagaId + String(action.attempts), step.name, command.action)',
      },
    ],
  },
  {
    name: 'tenant-left-out-of-ids',
    why: 'two tenants with the same key share correlation ids and keys',
    invariant: 8,
    edits: [
      {
        file: 'statemachines/rules/keys.ts',
        find: 'canonicalJson([start.tenant, start.principal, start.name, start.key])',
        replace: 'canonicalJson([start.principal, start.name, start.key])',
      },
    ],
  },
  {
    name: 'late-evidence-dropped-at-the-end',
    why: 'an effect that becomes known after the end is not recorded',
    invariant: 1,
    edits: [
      {
        file: 'statemachines/rules/outcome.ts',
        find: 'if (isFinal(state)) return lateEvidence(state, command, step, context);',
        replace: "if (isFinal(state)) return { kind: 'already' };",
      },
    ],
  },
  {
    name: 'second-effect-dropped',
    why: 'an effect beside the one on record is not recorded',
    invariant: 4,
    edits: [
      {
        file: 'statemachines/rules/outcome.ts',
        find: "if (isSameEffect(command, action)) return { kind: 'already' };",
        replace: "return { kind: 'already' };",
      },
    ],
  },
  {
    name: 'one-attempt-is-one-effect',
    why: 'what an attempt is said to have done a second time is taken for another word about the first',
    invariant: 4,
    edits: [
      {
        file: 'statemachines/rules/outcome.ts',
        find: 'if (contradicts(known, told)) return false;',
        replace: '',
      },
    ],
  },
  {
    name: 'late-question-is-a-second-effect',
    why: 'a question about an earlier attempt, asked again, is heard as a second effect',
    invariant: 4,
    edits: [
      {
        file: 'statemachines/rules/outcome.ts',
        find: 'if (command.foundAt === undefined) return false;',
        replace: 'return false;',
      },
    ],
  },
  {
    name: 'one-key-is-two-effects',
    why: 'two answers to one key count as two effects once the key is not the first one',
    invariant: 4,
    edits: [
      {
        file: 'statemachines/rules/outcome.ts',
        find: 'if (roundOf(action, command.attempt) === roundOf(action, commit?.attempt ?? 0)) return true;',
        replace: 'if (action.round === 1) return true;',
      },
    ],
  },
  {
    name: 'half-open-lets-all-pass',
    why: 'while one call probes a provider that was ill, all others are made too',
    invariant: 12,
    edits: [
      {
        file: 'statemachines/rules/breaker.ts',
        find: "if (state.kind === 'closed') return NOTHING;",
        replace: "if (state.kind !== 'open') return NOTHING;",
      },
    ],
  },
];
