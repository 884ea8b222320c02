import type { Mutant } from './mutant.ts';

/** Drives, their ends, and how a saga is found again. */
export const driveMutants: readonly Mutant[] = [
  {
    name: 'granted-not-started',
    why: 'an epoch is granted, and no execution is started for it',
    invariant: 12,
    edits: [
      {
        file: 'lambdas/runtime/saga-ledger.ts',
        find: "if (granted && event.drive === 'running') await",
        replace: "if (granted && event.drive === 'parked') await",
      },
    ],
  },
  {
    name: 'start-not-registered',
    why: 'no entry leads to a saga that starts',
    invariant: 12,
    edits: [
      {
        file: 'lambdas/runtime/saga-ledger.ts',
        find: 'await stores.registry.add({ ...id, dueAt: registeredAt });',
        replace: '',
      },
    ],
  },
  {
    name: 'wake-not-registered',
    why: 'no entry leads to a parked saga that is woken early',
    invariant: 12,
    edits: [
      {
        file: 'lambdas/runtime/saga-ledger.ts',
        find: `clock.now() + DRIVE_CHECK_MS - SPARE_MS);
    await stores.registry.add({ ...id, dueAt });`,
        replace: 'clock.now() + DRIVE_CHECK_MS - SPARE_MS);',
      },
    ],
  },
  {
    name: 'entry-removed-by-any-event',
    why: "a saga's first entry is removed before its end",
    invariant: 12,
    edits: [
      {
        file: 'lambdas/runtime/saga-ledger.ts',
        find: 'if (event.dueAt === undefined) await this.#close',
        replace: 'if (event.seq > 1) await this.#close',
      },
    ],
  },
  {
    name: 'sweep-removes-running',
    why: 'the sweep removes the entry of a saga whose drive may still be lost',
    invariant: 12,
    edits: [
      {
        file: 'lambdas/sweep/sweep.ts',
        find: "if (head.drive !== 'parked') return { look: 'left' };",
        replace: `if (head.drive !== 'parked') {
      await stores.registry.remove(entry);
      return { look: 'left' };
    }`,
      },
    ],
  },
  {
    name: 'sweep-removes-parked',
    why: 'the sweep removes the entry of a saga that is parked for later',
    invariant: 12,
    edits: [
      {
        file: 'lambdas/sweep/sweep.ts',
        find: 'await stores.registry.add({ ...id, dueAt: head.dueAt });',
        replace: '',
      },
    ],
  },
  {
    name: 'old-epoch-resumed',
    why: 'a parked saga goes on under the epoch that its park has ended',
    invariant: 7,
    edits: [
      {
        file: 'statemachines/rules/stamp.ts',
        find: `if (drive === 'parked' && !QUIET.includes(draft.type)) {
        return { drive: 'running', epoch: epoch + 1 };`,
        replace: `if (drive === 'parked' && !QUIET.includes(draft.type)) {
        return { drive: 'running', epoch };`,
      },
    ],
  },
  {
    name: 'clock-goes-back',
    why: 'an event is dated before the one it follows',
    invariant: 11,
    edits: [
      {
        file: 'statemachines/rules/stamp.ts',
        find: 'at: Math.max(context.now, state.at),',
        replace: 'at: context.now,',
      },
    ],
  },
  {
    name: 'completed-with-a-step-missing',
    why: 'completed is reported although a step is not done',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/drive.ts',
        find: "if (open.length > 0) return reject({ reason: 'not_ready' });",
        replace: '',
      },
    ],
  },
  {
    name: 'completed-although-cancelled',
    why: 'completed is reported although a terminal fact stands',
    invariant: 3,
    edits: [
      {
        file: 'statemachines/rules/drive.ts',
        find: `if (state.halt !== undefined) return reject({ reason: 'halted' });
  const open`,
        replace: 'const open',
      },
    ],
  },
  {
    name: 'cancelled-behind-the-pivot',
    why: 'a cancel is honoured although the pivot has committed',
    invariant: 10,
    edits: [
      {
        file: 'statemachines/rules/outside.ts',
        find: `if (pivotCommitted(state)) {
    return conflict('the irreversible`,
        replace: `if (pivotCommitted(state) && state.seq < 0) {
    return conflict('the irreversible`,
      },
    ],
  },
  {
    name: 'deadline-behind-the-pivot',
    why: 'the deadline is honoured although the pivot has committed',
    invariant: 10,
    edits: [
      {
        file: 'statemachines/rules/drive.ts',
        find: 'now >= deadlineAt && !pivotCommitted(state)',
        replace: 'now >= deadlineAt',
      },
    ],
  },
  {
    name: 'defect-ignored',
    why: 'an answer that does not fit its schema goes unnoticed',
    invariant: 3,
    edits: [
      {
        file: 'lambdas/tool/values.ts',
        find: '...(defect === undefined ? {} : { defect }),',
        replace: '',
      },
    ],
  },
];
