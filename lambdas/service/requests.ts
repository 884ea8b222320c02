import * as z from 'zod/mini';
import { ACTIONS, DECISIONS, type Decision } from '../../statemachines/rules/events.ts';
import { costSchema } from './wire.ts';

/** What callers send beside a saga's input. Members nobody knows are refused, so no typo goes unseen. */

/** Reasons and notes stand in events, which stay near one write unit. */
export const MAX_TEXT = 1_000;

const words = (about: string) =>
  z
    .string()
    .check(
      z.regex(/\S/),
      z.maxLength(MAX_TEXT),
      z.describe(`${about} At most ${MAX_TEXT} characters.`),
    );

const latest = z
  .literal('latest')
  .check(z.describe('Later drives run the machine version that is deployed now.'));

const everything = z
  .literal(true)
  .check(z.describe('Undo what a checkpoint would keep, too. Without it recovery ends there.'));

export const cancelRequest = z.strictObject({
  reason: words('Why recovery is asked for.'),
  everything: z.optional(everything),
});

export const rerunRequest = z.strictObject({});

export const eraseRequest = z.strictObject({ reason: words('Why the payloads are erased.') });

export const resumeRequest = z.strictObject({
  machine: z.optional(latest),
  note: z.optional(words('What was mended.')),
});

export const decisionRequest = z.strictObject({
  decision: z.enum(DECISIONS),
  evidence: z.optional(words('What was done or seen, and where it can be looked up.')),
  everything: z.optional(everything),
  step: z.optional(z.string()),
  action: z.optional(z.enum(ACTIONS)),
  answer: z.optional(z.enum(['committed', 'absent'])),
  externalIds: z.optional(z.record(z.string(), z.string().check(z.maxLength(MAX_TEXT)))),
  result: z.optional(z.unknown().check(z.describe('What the tool would have answered.'))),
  planHash: z.optional(z.string()),
  maxCost: z.optional(costSchema),
  machine: z.optional(latest),
});
export type DecisionRequest = z.infer<typeof decisionRequest>;

type Member = Exclude<keyof DecisionRequest, 'decision'>;

/** What each decision needs and may carry. */
export const DECISION_MEMBERS: Readonly<
  Record<Decision, { readonly needs: readonly Member[]; readonly may: readonly Member[] }>
> = {
  retry: { needs: [], may: ['evidence', 'machine'] },
  recover: { needs: [], may: ['evidence', 'everything', 'machine'] },
  approve: { needs: ['planHash', 'maxCost'], may: ['evidence', 'machine'] },
  reject: { needs: [], may: ['evidence'] },
  answer: {
    needs: ['step', 'action', 'answer', 'evidence'],
    may: ['result', 'externalIds', 'machine'],
  },
  resolve: { needs: ['step', 'evidence'], may: ['machine'] },
  close: { needs: ['evidence'], may: [] },
};
