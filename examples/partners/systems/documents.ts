import * as z from 'zod/mini';
import type { PartnerSystem } from '../operation.ts';
import { effectOf, read, refusal, text, write } from '../operation.ts';
import { digestOf, isCase } from './cases.ts';

const intake = read({
  name: 'intake',
  path: '/intake/:caseId',
  answer(_query, { caseId }) {
    if (caseId === undefined || !isCase(caseId)) {
      return refusal(404, 'unknown_case', `Nothing came in for ${caseId}: ids look like D-17.`);
    }
    return { kind: 'answer', body: { caseId, pages: 3, digest: digestOf(caseId) } };
  },
});

const store = write({
  name: 'store',
  path: '/files',
  body: z.strictObject({ caseId: text, title: text, digest: text }),
  orderId: (body) => body.caseId,
  decide: (body) => ({ kind: 'effect', prefix: 'FIL', document: body }),
  render: (effect) => ({ fileId: effect.externalId, ...effect.document }),
});

const withdraw = write({
  name: 'withdraw',
  path: '/files/:fileId/withdrawals',
  body: z.strictObject({}),
  orderId: (_body, { fileId }, tx) => effectOf(tx, 'documents', 'store', fileId)?.orderId ?? null,
  decide(_body, { fileId }, tx) {
    const file = effectOf(tx, 'documents', 'store', fileId);
    if (file === undefined) {
      return refusal(404, 'unknown_file', `No file ${fileId} was ever stored.`);
    }
    if (file.reversedBy.length > 0) {
      return refusal(409, 'already_withdrawn', `${fileId} was withdrawn under another key.`);
    }
    return {
      kind: 'effect',
      prefix: 'WDR',
      reverses: file.externalId,
      document: { fileId: file.externalId },
    };
  },
  render: (effect) => ({ withdrawalId: effect.externalId, ...effect.document }),
});

const words = read({
  name: 'text',
  path: '/files/:fileId/text',
  answer(_query, { fileId }, tx) {
    const file = effectOf(tx, 'documents', 'store', fileId);
    if (file === undefined || file.reversedBy.length > 0) {
      return refusal(404, 'unknown_file', `No file ${fileId} is stored.`);
    }
    const title = String(file.document.title);
    return { kind: 'answer', body: { fileId, language: 'en', words: title.split(' ') } };
  },
});

/** The document store: remembers idempotency keys for ever. */
export const documents: PartnerSystem = {
  name: 'documents',
  honoursKeys: true,
  operations: [intake, store, withdraw, words],
};
