import { isDeepStrictEqual } from 'node:util';
import { safeParse } from 'zod/v4/core';
import type { AnyTool } from '../../statemachines/language/tool.ts';
import { openRecord } from '../../statemachines/ledger/chain.ts';
import type { ReviewDecision } from '../../statemachines/rules/commands.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { decideReview } from '../../statemachines/rules/outside.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import { ArgumentsRefused, commitValues, loadArguments } from '../tool/values.ts';
import { fitted, type RawBody, readRequest } from './body.ts';
import { latestMachine } from './machine.ts';
import { demand, type Parts, rejected } from './parts.ts';
import type { Principal } from './principal.ts';
import { Problem } from './problems.ts';
import { DECISION_MEMBERS, type DecisionRequest, decisionRequest } from './requests.ts';
import { decidedBy, loadReviewed, parseReviewId, reviewUnknown } from './review.ts';
import { incidentId, viewOf } from './view.ts';
import type { SagaView } from './wire.ts';

const REMEDY = 'read the review again and decide on what it says now';

/**
 * Records a person's decision on one review, and answers the saga after it. The same decision by the
 * same person again changes nothing.
 * @throws Problem `decision-invalid` (its form, or a result that the tool could not have given),
 *   `conflict` (the review is over, or says something else now), `review-unknown`
 */
export async function decideOn(
  parts: Parts,
  principal: Principal,
  review: string,
  raw: RawBody,
): Promise<SagaView> {
  const { clock } = parts.host;
  // What a person saw is no newer than this, however long the ledger takes to be read.
  const askedAt = clock.now();
  demand(principal, 'reviewer');
  const request = readRequest(decisionRequest, raw, 'decision-invalid');
  checkMembers(request);
  const { id, seq } = parseReviewId(principal, review);
  const state = await loadReviewed(parts, id);
  if (request.decision === 'close' && incidentId(state) !== review) {
    throw new Problem('conflict', 'only an incident is closed, under its own id', REMEDY);
  }
  const named = request.machine === 'latest' ? latestMachine(parts, state) : {};
  const decision: ReviewDecision = { ...plain(request), ...named };

  // Asked first without writing: payloads are kept only for a decision that may stand.
  const context = { now: askedAt, actor: principal.id };
  const probe = decideReview(state, { kind: 'decide', review, decision }, context);
  if (probe.kind === 'rejected') {
    const events = await eventsOf(parts, id);
    if (isRepeat(events, principal, review, decision)) return viewOf(state, clock.now());
    const was = events[seq - 1]?.type === 'review_opened' || incidentId(state) === review;
    throw was ? rejected(probe.rejection, REMEDY) : reviewUnknown();
  }
  const values = await answerValues(parts, id, state, request);
  const { verdict, state: after } = await parts.ledger.write(
    id,
    { kind: 'decide', review, decision: { ...decision, ...values } },
    { actor: principal.id },
  );
  if (verdict.kind === 'rejected') {
    const repeat = isRepeat(await eventsOf(parts, id), principal, review, decision);
    if (!repeat) throw rejected(verdict.rejection, REMEDY);
  }
  return viewOf(after ?? state, clock.now());
}

function checkMembers(request: DecisionRequest): void {
  const { needs, may } = DECISION_MEMBERS[request.decision];
  const { decision: _decision, ...given } = request;
  const missing = needs.find((member) => request[member] === undefined);
  if (missing !== undefined) {
    throw invalid(
      `"${request.decision}" needs "${missing}"`,
      `send ${needs.map((name) => `"${name}"`).join(', ')}`,
      missing,
    );
  }
  const known: readonly string[] = [...needs, ...may];
  const extra = Object.keys(given).find((member) => !known.includes(member));
  if (extra !== undefined) {
    throw invalid(
      `"${request.decision}" has no "${extra}"`,
      'leave it out, or take the decision it belongs to',
      extra,
    );
  }
  const committed = request.answer === 'committed';
  if (!committed && ('result' in request || request.externalIds !== undefined)) {
    throw invalid('only the answer "committed" brings a result', 'leave it out', 'result');
  }
  if (committed && request.action !== 'forward' && 'result' in request) {
    throw invalid('an undo has no result', 'leave it out', 'result');
  }
}

function invalid(detail: string, remedy: string, at: string): Problem {
  return new Problem('decision-invalid', detail, remedy, { at: `/${at}` });
}

/** The request without what has another form in the ledger. */
function plain(request: DecisionRequest): ReviewDecision {
  const { machine: _machine, result: _result, ...members } = request;
  const defined = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as unknown as ReviewDecision;
}

type AnswerValues = Pick<ReviewDecision, 'result' | 'undo' | 'externalIds'>;

/**
 * What a person's "it committed" brings: the result as the tool would have given it, and the undo's
 * arguments made from it, exactly as after a call (invariant 6).
 */
async function answerValues(
  parts: Parts,
  id: LedgerId,
  state: SagaState,
  request: DecisionRequest,
): Promise<AnswerValues> {
  if (request.answer !== 'committed' || request.action !== 'forward') return {};
  const tool = toolOf(parts, state, request.step ?? '');
  if (!('result' in request) && !safeParse(tool.output, undefined).success) {
    throw invalid(
      `"committed" needs "result": what tool "${tool.name}" would have answered`,
      'send "result", in the form that the tool\'s output has',
      'result',
    );
  }
  fitted(tool.output, request.result, 'decision-invalid', `the result of tool "${tool.name}"`);
  const args = await knownArguments(parts, id, state, request.step ?? '', tool);
  const { stores } = parts.host;
  const values = await commitValues(stores, id, tool, args, request.result, request.externalIds);
  if (values.defect !== undefined) {
    throw invalid(
      values.defect.message,
      'give the result in the form the tool would have',
      'result',
    );
  }
  return { result: values.result, undo: values.undo, externalIds: values.externalIds };
}

function toolOf(parts: Parts, state: SagaState, step: string): AnyTool {
  const tool = parts.sagas
    .get(state.start.name)
    ?.steps.find((candidate) => candidate.name === step)?.tool;
  if (tool !== undefined && tool.name === state.steps.get(step)?.record.tool) return tool;
  throw new Problem(
    'conflict',
    `the tool of step "${step}" is not loaded here, so no result can be checked`,
    'deploy the definition this saga began with, then answer again',
  );
}

/** Without the arguments the commit still counts: the undo is then a person's. */
async function knownArguments(
  parts: Parts,
  id: LedgerId,
  state: SagaState,
  step: string,
  tool: AnyTool,
): Promise<unknown> {
  const stored = state.steps.get(step)?.forward.args;
  if (stored === undefined) return undefined;
  try {
    return await loadArguments(parts.host.stores, id, stored, tool.input, step);
  } catch (error) {
    if (error instanceof ArgumentsRefused) return undefined;
    throw error;
  }
}

async function eventsOf(parts: Parts, id: LedgerId): Promise<SagaEvent[]> {
  const records = await parts.host.stores.ledger.read(id);
  return records.map((record) => openRecord(record));
}

/** A decision whose answer was lost on its way to the person stands already. */
function isRepeat(
  events: readonly SagaEvent[],
  principal: Principal,
  review: string,
  decision: ReviewDecision,
): boolean {
  const stands = decidedBy(events, review);
  if (stands === undefined || stands.actor !== principal.id) return false;
  const compared = [
    'decision',
    'evidence',
    'everything',
    'step',
    'action',
    'answer',
    'planHash',
    'maxCost',
  ] as const;
  return compared.every((name) => isDeepStrictEqual(stands[name], decision[name]));
}
