import * as z from 'zod/mini';
import type { PartnerSystem } from '../operation.ts';
import { effectOf, read, refusal, text, write } from '../operation.ts';

const list = write({
  name: 'list',
  path: '/entries',
  body: z.strictObject({ caseId: text, fileId: text, digest: text, words: z.array(text) }),
  orderId: (body) => body.caseId,
  decide: (body) => ({ kind: 'effect', prefix: 'IDX', document: body }),
  render: (effect) => ({ entryId: effect.externalId, ...effect.document }),
});

/** What was once found cannot be unfound: a tombstone beside the entry says that it counts no more. */
const bury = write({
  name: 'bury',
  path: '/entries/:entryId/tombstones',
  body: z.strictObject({ reason: text }),
  orderId: (_body, { entryId }, tx) => effectOf(tx, 'search', 'list', entryId)?.orderId ?? null,
  decide(body, { entryId }, tx) {
    const entry = effectOf(tx, 'search', 'list', entryId);
    if (entry === undefined) {
      return refusal(404, 'unknown_entry', `No entry ${entryId} was ever made.`);
    }
    return {
      kind: 'effect',
      prefix: 'TMB',
      reverses: entry.externalId,
      document: { entryId: entry.externalId, ...body },
    };
  },
  render: (effect) => ({ tombstoneId: effect.externalId, ...effect.document }),
});

const duplicates = read({
  name: 'duplicates',
  path: '/duplicates',
  query: z.looseObject({ digest: text }),
  answer({ digest }, _params, tx) {
    const found = tx
      .effects()
      .filter((row) => row.system === 'search' && row.operation === 'list')
      .filter((row) => row.reversedBy.length === 0 && row.document.digest === digest);
    return { kind: 'answer', body: { entryIds: found.map((row) => row.externalId) } };
  },
});

const entry = read({
  name: 'entry',
  path: '/entries/:entryId',
  answer(_query, { entryId }, tx) {
    const found = effectOf(tx, 'search', 'list', entryId);
    if (found === undefined) {
      return refusal(404, 'unknown_entry', `No entry ${entryId} was ever made.`);
    }
    const state = found.reversedBy.length > 0 ? 'buried' : 'listed';
    return { kind: 'answer', body: { entryId: found.externalId, state } };
  },
});

/** The search index: remembers idempotency keys for ever. */
export const search: PartnerSystem = {
  name: 'search',
  honoursKeys: true,
  operations: [list, bury, duplicates, entry],
};
