import * as z from 'zod/mini';
import { EFFECT_CLASSES } from '../../statemachines/language/effects.ts';
import {
  ACTIONS,
  DECISIONS,
  FAILURE_CLASSES,
  FAILURE_REASONS,
  HALT_REASONS,
  REVIEW_REASONS,
  SAGA_STATES,
} from '../../statemachines/rules/events.ts';
import { STANDINGS } from '../../statemachines/rules/standing.ts';
import { TAMPERING_KINDS } from '../ports/saga-index.ts';

export * from './wire-registry.ts';

/**
 * What the API answers, as schemas: the types of this folder and the OpenAPI document both follow
 * from them. Times are ISO 8601 in UTC; optional members are absent, never null.
 */

export const FORWARD_STATES = [
  'pending',
  'running',
  'done',
  'retrying',
  'waiting',
  'in_doubt',
  'failed_terminal',
] as const;
export type ForwardState = (typeof FORWARD_STATES)[number];

export const COMPENSATION_STATES = [
  'not_required',
  'pending',
  'running',
  'retrying',
  'waiting',
  'in_doubt',
  'done',
  'superseded',
  'resolved',
  'failed',
  'blocked',
] as const;
export type CompensationState = (typeof COMPENSATION_STATES)[number];

const time = z.iso.datetime();
const count = z.int().check(z.gte(0));
const ids = z.record(z.string(), z.string());

export const costSchema = z.object({
  costMinor: count.check(z.describe('In the minor unit of the currency (cents).')),
  currency: z.string().check(z.regex(/^[A-Z]{3}$/), z.describe('ISO 4217, for example EUR.')),
});

const recoveryCostSchema = z
  .object({
    spentMinor: count,
    reservedMinor: count.check(z.describe('Set aside for what is still to be undone.')),
    limitMinor: z.optional(count.check(z.describe('By the ceiling or an approval.'))),
    overLimitMinor: z.optional(count.check(z.describe('Spent beyond that limit.'))),
    currency: z.string(),
  })
  .check(z.describe('What undoing costs, in the minor unit of the currency.'));

const failureSchema = z.object({
  class: z.enum(FAILURE_CLASSES),
  code: z.string(),
  message: z.string(),
  reason: z.optional(z.enum(FAILURE_REASONS)),
  at: time,
});

const actionMembers = {
  attempts: count,
  externalIds: ids,
  failure: z.optional(failureSchema),
  nextAt: z.optional(time.check(z.describe('When it is tried, or asked about, again.'))),
  deferred: z.optional(
    z.boolean().check(z.describe("Its tool's breaker is open: nothing is called until then.")),
  ),
  committedAt: z.optional(time),
};

export const stepSchema = z.object({
  name: z.string(),
  tool: z.string(),
  effect: z.enum(EFFECT_CLASSES),
  checkpoint: z.optional(
    z
      .boolean()
      .check(z.describe('Recovery goes back no further once it and all before it are done.')),
  ),
  forward: z.object({
    state: z.enum(FORWARD_STATES),
    ...actionMembers,
    adopted: z.optional(
      z.boolean().check(z.describe('Done by the previous saga, whose checkpoint kept it.')),
    ),
  }),
  compensation: z.object({
    state: z.enum(COMPENSATION_STATES),
    ...actionMembers,
    by: z.optional(z.string().check(z.describe('Who vouches that nothing of this step stands.'))),
    skipped: z.optional(z.string().check(z.describe('Why there is nothing to undo.'))),
  }),
});
export type StepView = z.infer<typeof stepSchema>;

export const sagaSchema = z.object({
  id: z.string(),
  name: z.string(),
  version: z.string(),
  state: z.enum(SAGA_STATES),
  startedAt: time,
  changedAt: time,
  dueAt: z.optional(time.check(z.describe('When somebody looks at the saga next.'))),
  deadlineAt: z.optional(time),
  replayed: z.optional(
    z.boolean().check(z.describe('An earlier start made this saga; this one changed nothing.')),
  ),
  checkpoint: z.optional(
    z
      .string()
      .check(z.describe('Recovery goes, or went, back to it: the steps up to it stay done.')),
  ),
  previous: z.optional(z.string().check(z.describe('The saga that this one was run again from.'))),
  rerun: z.optional(
    z.string().check(z.describe('The saga that goes on with the work of this one.')),
  ),
  recoveryCost: z.optional(recoveryCostSchema),
  erased: z.optional(z.boolean().check(z.describe('Its stored arguments and results are gone.'))),
  drive: z.object({
    state: z.enum(['running', 'parked', 'ended']),
    epoch: count,
  }),
  steps: z.array(stepSchema),
  halt: z.optional(
    z.object({
      reason: z.enum(HALT_REASONS),
      budget: z.optional(
        z.enum(['saga']).check(z.describe("Whose budget is spent. Absent: the step's own.")),
      ),
      step: z.optional(z.string()),
      code: z.optional(z.string()),
      at: time,
      afterPivot: z.boolean(),
      everything: z.optional(z.boolean().check(z.describe('No checkpoint is kept, as asked for.'))),
    }),
  ),
  review: z.optional(
    z.object({
      id: z.string(),
      reason: z.enum(REVIEW_REASONS),
      steps: z.array(z.string()),
      explanation: z.string(),
      openedAt: time,
      deadlineAt: time,
    }),
  ),
  incident: z.optional(
    z.object({
      id: z.string(),
      reason: z.enum(['pivot_committed', 'irreversible_failure', 'late_evidence', 'damaged']),
      steps: z.array(z.string()),
      explanation: z.string(),
      closed: z.optional(z.object({ by: z.string(), at: time, evidence: z.string() })),
    }),
  ),
  links: z.object({
    self: z.string(),
    ledger: z.string(),
    verification: z.string(),
    standing: z.string(),
    review: z.optional(z.string()),
    previous: z.optional(z.string()),
    rerun: z.optional(z.string()),
  }),
});
export type SagaView = z.infer<typeof sagaSchema>;

const tamperingSchema = z.object({
  seq: count.check(z.describe('The first record that was changed or removed.')),
  at: time,
  found: z.enum(TAMPERING_KINDS),
});
const tampered = z.optional(
  tamperingSchema.check(
    z.describe('Somebody changed or removed records of this ledger, whatever it looks like now.'),
  ),
);

export const summarySchema = z.object({
  id: z.string(),
  name: z.string(),
  version: z.string(),
  state: z.enum(SAGA_STATES),
  startedAt: time,
  changedAt: time,
  checkpoint: z.optional(
    z.string().check(z.describe('Of a compensated saga: what the steps up to it did is kept.')),
  ),
  review: z.optional(z.string()),
  reviewReason: z.optional(z.string()),
  reviewDeadlineAt: z.optional(time),
  tampered,
  links: z.object({ self: z.string() }),
});
export type SummaryView = z.infer<typeof summarySchema>;

export const sagaPageSchema = z.object({
  sagas: z.array(summarySchema),
  cursor: z.optional(z.string().check(z.describe('Pass it to get the next page.'))),
});
export type SagaPageView = z.infer<typeof sagaPageSchema>;

export const ledgerPageSchema = z.object({
  records: z.array(
    z.object({
      seq: count,
      prev: z.string(),
      hash: z.string(),
      event: z.optional(z.record(z.string(), z.unknown())),
      body: z.optional(
        z.string().check(z.describe('The stored text, where it cannot be read as an event.')),
      ),
    }),
  ),
  cursor: z.optional(z.string()),
});
export type LedgerPageView = z.infer<typeof ledgerPageSchema>;

const headSchema = z.object({ seq: count, hash: z.string() });

export const verificationSchema = z.object({
  sagaId: z.string(),
  verdict: z.enum(['valid', 'invalid']),
  checkedAt: time,
  head: z.optional(headSchema.check(z.describe('The last record that verified.'))),
  events: z.optional(count),
  problem: z.optional(z.string()),
  seq: z.optional(count.check(z.describe('The record where the problem shows.'))),
  explanation: z.optional(z.string()),
  checkedAgainst: z.array(
    z.string().check(z.describe('What the chain was held against, beside itself.')),
  ),
  tampered,
});
export type VerificationView = z.infer<typeof verificationSchema>;

export const standingSchema = z.object({
  sagaId: z.string(),
  name: z.string(),
  version: z.string(),
  state: z.enum(SAGA_STATES),
  seq: count,
  at: time,
  checkpoint: z.optional(z.string().check(z.describe('What the steps up to it did is kept.'))),
  recoveryCost: z.optional(recoveryCostSchema),
  clear: z.boolean().check(z.describe('No effect stands, is kept, is in doubt or is awaited.')),
  summary: z.string(),
  steps: z.array(
    z.object({
      step: z.string(),
      tool: z.string(),
      effect: z.enum(EFFECT_CLASSES),
      standing: z.enum(STANDINGS),
      words: z.string(),
      externalIds: ids,
      recoveryIds: z.optional(ids.check(z.describe('Of what undid or contained it alone.'))),
      cost: z.optional(costSchema),
      overshoot: z.optional(
        costSchema.check(z.describe('Its recovery cost this much more than was set aside for it.')),
      ),
      by: z.optional(z.string()),
      evidence: z.optional(z.string()),
      extra: z.array(ids),
    }),
  ),
});
export type StandingView = z.infer<typeof standingSchema>;

const reviewMembers = {
  id: z.string(),
  kind: z.enum(['review', 'incident']),
  status: z.enum(['open', 'decided', 'closed']),
  reason: z.string(),
  steps: z.array(z.string()),
  explanation: z.string(),
  openedAt: time,
  deadlineAt: z.optional(time),
  overdue: z.optional(z.boolean()),
  planHash: z.optional(z.string()),
  maxCost: z.optional(costSchema),
  saga: z.object({
    id: z.string(),
    name: z.string(),
    version: z.string(),
    state: z.enum(SAGA_STATES),
  }),
  links: z.object({ self: z.string(), saga: z.string() }),
};

export const reviewItemSchema = z.object(reviewMembers);
export type ReviewItemView = z.infer<typeof reviewItemSchema>;

export const reviewPageSchema = z.object({
  reviews: z.array(reviewItemSchema),
  cursor: z.optional(z.string()),
});
export type ReviewPageView = z.infer<typeof reviewPageSchema>;

export const planSchema = z.object({
  hash: z.string(),
  checkpoint: z.optional(z.string().check(z.describe('The steps up to it are not undone.'))),
  estimateMinor: count,
  currency: z.optional(z.string()),
  entries: z.array(
    z.object({
      step: z.string(),
      action: z.string(),
      after: z.array(z.string()),
      conditional: z.optional(z.boolean()),
      mark: z.optional(z.boolean()),
      why: z.optional(z.string().check(z.describe('Why there is nothing to undo.'))),
      estimate: z.optional(costSchema),
    }),
  ),
  consequences: z.array(z.string()),
});

export const reviewSchema = z.object({
  ...reviewMembers,
  decisions: z.array(z.enum(DECISIONS)).check(z.describe('What may be decided now.')),
  answerable: z.array(z.object({ step: z.string(), action: z.enum(ACTIONS) })),
  plan: z.optional(planSchema),
  standing: standingSchema,
  decided: z.optional(
    z.object({
      decision: z.enum(DECISIONS),
      by: z.string(),
      at: time,
      evidence: z.optional(z.string()),
    }),
  ),
  suggestions: z.array(
    z.object({
      by: z.string(),
      at: time,
      value: z.optional(z.unknown()),
      gone: z.optional(z.string().check(z.describe('Why there is no value.'))),
    }),
  ),
});
export type ReviewView = z.infer<typeof reviewSchema>;

export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: count,
  detail: z.string(),
  remedy: z.string().check(z.describe('What to do next.')),
  at: z.optional(z.string().check(z.describe('The place that is meant.'))),
  retryAt: z.optional(time),
});
export type ProblemView = z.infer<typeof problemSchema>;

/** Where things are found. */
export const sagaPath = (id: string): string => `/v1/sagas/${id}`;
export const reviewPath = (id: string): string => `/v1/reviews/${id}`;
export const iso = (ms: number): string => new Date(ms).toISOString();
