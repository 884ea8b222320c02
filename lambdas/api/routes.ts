import {
  cancelRequest,
  decisionRequest,
  eraseRequest,
  rerunRequest,
  resumeRequest,
} from '../service/requests.ts';
import { KEY_HEADER } from '../service/start-key.ts';
import * as wire from '../service/wire.ts';
import { jsonAnswer, linesAnswer, textAnswer } from './answers.ts';
import { listQuery, one, page } from './queries.ts';
import type { Route } from './route.ts';

const NDJSON = 'application/x-ndjson';
const MERMAID = 'text/vnd.mermaid';

const saga = { status: 200, description: 'The saga.', name: 'Saga', schema: wire.sagaSchema };
const id = { id: 'Id of the saga.' };
const paging = {
  limit: 'Entries on the page.',
  cursor: 'From the page before.',
};

const START_ADVICE =
  'If no answer comes, send the same request again with the same key and the same body: it is then ' +
  'the same saga. A new key is a new saga, and its effects happen a second time. Never make up a ' +
  'new key for a repeat.';

/** Every call of the API but its own description. */
export const ROUTES: readonly Route[] = [
  {
    method: 'post',
    // OpenAPI knows no two names for one place in a path: `{id}` it is for a definition's name, too.
    path: '/v1/sagas/{id}',
    operationId: 'startSaga',
    summary: 'Start a saga.',
    description: `Answers once the start is recorded; the work goes on by itself. ${START_ADVICE}`,
    parameters: { id: 'Name of the saga definition.' },
    headers: { [KEY_HEADER]: { description: `Your own name for this start. ${START_ADVICE}` } },
    body: { name: 'Input', description: "The saga's input.", required: true },
    answer: { ...saga, status: 202, description: 'The saga, marked `replayed` where it existed.' },
    problems: [
      'key-missing',
      'key-invalid',
      'body-invalid',
      'definition-unknown',
      'input-too-large',
      'content-type-unknown',
      'input-invalid',
      'key-reused',
      'budget-spent',
      'definition-unavailable',
    ],
    handle: async ({ service, principal, param, header, body }) => {
      const key = header(KEY_HEADER);
      const view = await service.start(principal, param('id'), key, await body());
      return jsonAnswer(202, view, { location: view.links.self });
    },
  },
  {
    method: 'get',
    path: '/v1/sagas',
    operationId: 'listSagas',
    summary: 'List sagas, oldest first.',
    query: {
      state: 'One or more states, separated by commas.',
      name: 'Name of the saga definition.',
      olderThan: 'Started before that: an age (15m, 2h, 7d) or a moment (ISO 8601).',
      ...paging,
    },
    answer: { status: 200, description: 'A page.', name: 'SagaPage', schema: wire.sagaPageSchema },
    problems: ['query-invalid'],
    handle: async ({ service, principal, query }) =>
      jsonAnswer(200, await service.list(principal, listQuery(query, service.clock.now()))),
  },
  {
    method: 'get',
    path: '/v1/sagas/{id}',
    operationId: 'getSaga',
    summary: 'Read a saga: its state, and each step forward and back.',
    parameters: id,
    answer: saga,
    problems: ['saga-unknown', 'ledger-damaged'],
    handle: async ({ service, principal, param }) =>
      jsonAnswer(200, await service.get(principal, param('id'))),
  },
  {
    method: 'get',
    path: '/v1/sagas/{id}/ledger',
    operationId: 'readLedger',
    summary: 'Read the ledger of a saga, by pages or whole.',
    parameters: id,
    query: { format: 'ndjson: the whole ledger, to be verified anywhere.', ...paging },
    answer: {
      status: 200,
      description: 'Records in order.',
      name: 'LedgerPage',
      schema: wire.ledgerPageSchema,
      other: [NDJSON],
    },
    problems: ['saga-unknown', 'query-invalid'],
    handle: async ({ service, principal, param, query, header }) => {
      const whole =
        one(query, 'format') === 'ndjson' || header('accept')?.includes(NDJSON) === true;
      if (whole) return linesAnswer(NDJSON, await service.ledgerNdjson(principal, param('id')));
      return jsonAnswer(
        200,
        await service.ledgerPage(principal, param('id'), page(query, 100, 1_000)),
      );
    },
  },
  {
    method: 'get',
    path: '/v1/sagas/{id}/verification',
    operationId: 'verifySaga',
    summary: "Verify a saga's ledger from its first record to its head.",
    parameters: id,
    answer: {
      status: 200,
      description: 'The verdict, and what the chain was held against.',
      name: 'Verification',
      schema: wire.verificationSchema,
    },
    problems: ['saga-unknown'],
    handle: async ({ service, principal, param }) =>
      jsonAnswer(200, await service.verification(principal, param('id'))),
  },
  {
    method: 'get',
    path: '/v1/sagas/{id}/standing',
    operationId: 'readStanding',
    summary: 'What stands of a saga: each effect in one word and in words for a person.',
    parameters: id,
    answer: {
      status: 200,
      description: 'The standing report.',
      name: 'Standing',
      schema: wire.standingSchema,
    },
    problems: ['saga-unknown', 'ledger-damaged'],
    handle: async ({ service, principal, param }) =>
      jsonAnswer(200, await service.standing(principal, param('id'))),
  },
  {
    method: 'post',
    path: '/v1/sagas/{id}/cancel',
    operationId: 'cancelSaga',
    summary:
      'Ask for recovery: what was done is undone. Refused once the irreversible step stands.',
    parameters: id,
    body: { name: 'Cancel', schema: cancelRequest, description: 'Why.', required: true },
    answer: saga,
    problems: ['saga-unknown', 'conflict', 'body-invalid', 'ledger-damaged'],
    handle: async ({ service, principal, param, body }) =>
      jsonAnswer(200, await service.cancel(principal, param('id'), await body())),
  },
  {
    method: 'post',
    path: '/v1/sagas/{id}/resume',
    operationId: 'resumeSaga',
    summary: 'Start the next drive now; what failed gets a fresh budget.',
    parameters: id,
    body: { name: 'Resume', schema: resumeRequest, description: 'How.', required: false },
    answer: saga,
    problems: [
      'saga-unknown',
      'conflict',
      'body-invalid',
      'ledger-damaged',
      'definition-unavailable',
    ],
    handle: async ({ service, principal, param, body }) =>
      jsonAnswer(200, await service.resume(principal, param('id'), await body())),
  },
  {
    method: 'post',
    path: '/v1/sagas/{id}/rerun',
    operationId: 'rerunSaga',
    summary: 'Run a compensated saga again from its checkpoint, as a saga of its own.',
    description: `What the checkpoint kept is done from the start, with its recorded results; without a checkpoint the saga begins at its first step. A saga is run again once: after that, run the new one again. ${START_ADVICE}`,
    parameters: id,
    headers: { [KEY_HEADER]: { description: `Your own name for this start. ${START_ADVICE}` } },
    body: { name: 'Rerun', schema: rerunRequest, description: 'Nothing, or {}.', required: false },
    answer: { ...saga, status: 202, description: 'The new saga, `replayed` where it existed.' },
    problems: [
      'saga-unknown',
      'conflict',
      'key-missing',
      'key-invalid',
      'key-reused',
      'budget-spent',
      'body-invalid',
      'ledger-damaged',
      'definition-unavailable',
    ],
    handle: async ({ service, principal, param, header, body }) => {
      const key = header(KEY_HEADER);
      const view = await service.rerun(principal, param('id'), key, await body());
      return jsonAnswer(202, view, { location: view.links.self });
    },
  },
  {
    method: 'post',
    path: '/v1/sagas/{id}/suggestions',
    operationId: 'suggest',
    summary:
      "Record advice for the person who decides. It moves nothing; a model's advice goes here.",
    parameters: id,
    body: { name: 'Suggestion', description: 'Any JSON.', required: true },
    answer: saga,
    problems: ['saga-unknown', 'conflict', 'body-invalid', 'input-too-large', 'ledger-damaged'],
    handle: async ({ service, principal, param, body }) =>
      jsonAnswer(200, await service.suggest(principal, param('id'), await body())),
  },
  {
    method: 'post',
    path: '/v1/sagas/{id}/erasure',
    operationId: 'eraseSaga',
    summary: 'Erase the stored arguments and results of a saga that is final.',
    parameters: id,
    body: { name: 'Erase', schema: eraseRequest, description: 'Why.', required: true },
    answer: saga,
    problems: ['saga-unknown', 'conflict', 'body-invalid', 'ledger-damaged'],
    handle: async ({ service, principal, param, body }) =>
      jsonAnswer(200, await service.erase(principal, param('id'), await body())),
  },
  {
    method: 'get',
    path: '/v1/reviews',
    operationId: 'listReviews',
    summary: 'What waits for a person: open reviews and open incidents.',
    query: paging,
    answer: {
      status: 200,
      description: 'A page; it may be short and still have a next one.',
      name: 'ReviewPage',
      schema: wire.reviewPageSchema,
    },
    problems: ['query-invalid'],
    handle: async ({ service, principal, query }) =>
      jsonAnswer(200, await service.listReviews(principal, page(query, 50, 200))),
  },
  {
    method: 'get',
    path: '/v1/reviews/{id}',
    operationId: 'getReview',
    summary: 'The snapshot a person decides on: plan, cost, what stands, advice.',
    parameters: { id: 'Id of the review.' },
    answer: { status: 200, description: 'The review.', name: 'Review', schema: wire.reviewSchema },
    problems: ['review-unknown', 'ledger-damaged'],
    handle: async ({ service, principal, param }) =>
      jsonAnswer(200, await service.getReview(principal, param('id'))),
  },
  {
    method: 'post',
    path: '/v1/reviews/{id}/decision',
    operationId: 'decideReview',
    summary: 'Decide a review. An approval is bound to the hash of the plan and a maximum cost.',
    parameters: { id: 'Id of the review.' },
    body: {
      name: 'Decision',
      schema: decisionRequest,
      description: 'One decision.',
      required: true,
    },
    answer: saga,
    problems: [
      'review-unknown',
      'conflict',
      'body-invalid',
      'decision-invalid',
      'ledger-damaged',
      'definition-unavailable',
    ],
    handle: async ({ service, principal, param, body }) =>
      jsonAnswer(200, await service.decide(principal, param('id'), await body())),
  },
  {
    method: 'get',
    path: '/v1/tools',
    operationId: 'listTools',
    summary: 'The tools: what each does, how it is undone, and its schemas.',
    answer: { status: 200, description: 'All tools.', name: 'Tools', schema: wire.toolsSchema },
    problems: [],
    handle: async ({ service, principal }) => jsonAnswer(200, await service.tools(principal)),
  },
  {
    method: 'get',
    path: '/v1/definitions',
    operationId: 'listDefinitions',
    summary: 'The saga definitions that can be started, with their input schemas.',
    answer: {
      status: 200,
      description: 'All definitions.',
      name: 'Definitions',
      schema: wire.definitionsSchema,
    },
    problems: [],
    handle: async ({ service, principal }) => jsonAnswer(200, service.definitions(principal)),
  },
  {
    method: 'get',
    path: '/v1/definitions/{name}/graph',
    operationId: 'drawDefinition',
    summary: 'A saga definition as a Mermaid flowchart.',
    parameters: { name: 'Name of the saga definition.' },
    answer: { status: 200, description: 'Mermaid text.', other: [MERMAID] },
    problems: ['definition-unknown'],
    handle: async ({ service, principal, param }) =>
      textAnswer(`${MERMAID}; charset=utf-8`, service.graph(principal, param('name'))),
  },
];
