import type { Mutant } from './mutant.ts';

const REPORT = 'statemachines/rules/standing.ts';

/** The standing report: what it calls gone, what it leaves out, and which ids and amounts it names. */
export const standingMutants: readonly Mutant[] = [
  {
    name: 'reversed-where-only-claimed',
    why: 'an undo that is under way or in doubt is reported as done',
    invariant: 2,
    edits: [
      {
        file: REPORT,
        find: `      return { standing: 'in_doubt', words: 'its undo may have taken effect; being found out' };`,
        replace: `      return { standing: 'reversed', words: 'undone' };`,
      },
    ],
  },
  {
    name: 'failed-undo-hushed',
    why: 'what stands since its undo failed is reported as waiting for its undo',
    invariant: 2,
    edits: [
      {
        file: REPORT,
        find: `    case 'failed':
      return {`,
        replace: `    case 'failed':
      if (step.resolved === undefined)
        return { standing: 'stands', words: 'still stands: its undo is to come' };
      return {`,
      },
    ],
  },
  {
    name: 'ids-of-what-came-to-nothing',
    why: 'the report names an effect by the id of a pending call that came to nothing',
    invariant: 2,
    edits: [
      {
        file: 'statemachines/rules/evolve-parts.ts',
        find: '    externalIds: {},\n    round: action.round + 1,',
        replace: '    externalIds: action.externalIds,\n    round: action.round + 1,',
      },
    ],
  },
  {
    name: 'extra-effect-left-out',
    why: 'the report leaves out an effect beside the recorded one',
    invariant: 2,
    edits: [
      {
        file: REPORT,
        find: 'extra: step.late.map((late) => late.externalIds),',
        replace: 'extra: [],',
      },
    ],
  },
  {
    name: 'clear-although-kept',
    why: 'the report is clear although a checkpoint keeps something',
    invariant: 2,
    edits: [
      {
        file: REPORT,
        find: "['nothing', 'reversed', 'superseded', 'resolved'].includes(",
        replace: "['nothing', 'reversed', 'superseded', 'resolved', 'kept'].includes(",
      },
    ],
  },
  {
    name: 'clear-although-irreversible',
    why: 'the report is clear although something that cannot be undone was contained',
    invariant: 2,
    edits: [
      {
        file: REPORT,
        find: "['nothing', 'reversed', 'superseded', 'resolved'].includes(",
        replace: "['nothing', 'reversed', 'superseded', 'resolved', 'irreversible'].includes(",
      },
    ],
  },
  {
    name: 'estimate-reported-as-cost',
    why: 'the report names what was set aside for an undo in place of what it cost',
    invariant: 2,
    edits: [
      {
        file: REPORT,
        find: 'const cost = recovery?.commit?.cost ?? forward.commit?.cost;',
        replace: 'const cost = recovery?.reserved ?? forward.commit?.cost;',
      },
    ],
  },
  {
    name: 'overshoot-unreported',
    why: 'the report is silent about an undo that cost more than was set aside for it',
    invariant: 2,
    edits: [
      {
        file: REPORT,
        find: '...(overshoot === undefined ? {} : { overshoot }),',
        replace: '',
      },
    ],
  },
  {
    name: 'undo-named-by-what-it-undid',
    why: "the report names the effect's ids where it should name those of its undo",
    invariant: 2,
    edits: [
      {
        file: REPORT,
        find: 'const recoveryIds = recovery?.externalIds ?? {};',
        replace: 'const recoveryIds = recovery === undefined ? {} : forward.externalIds;',
      },
    ],
  },
  {
    name: 'cost-not-recorded',
    why: 'what a provider took is not written down with the commit',
    invariant: 13,
    edits: [
      {
        file: 'lambdas/tool/job.ts',
        find: '...(cost === undefined ? {} : { cost }),',
        replace: "...(cost === undefined || via === 'reconcile' ? {} : { cost }),",
      },
    ],
  },
];
