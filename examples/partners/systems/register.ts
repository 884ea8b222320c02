import * as z from 'zod/mini';
import type { PartnerSystem } from '../operation.ts';
import { effectOf, lookupQuery, read, refusal, text, write } from '../operation.ts';
import type { EffectRow, JsonObject } from '../records.ts';
import type { Tx } from '../store.ts';

const RETENTION_YEARS: Readonly<Record<string, number>> = { invoice: 10, contract: 30, letter: 6 };

const classify = read({
  name: 'classify',
  path: '/classes',
  query: z.looseObject({ words: text }),
  answer({ words }) {
    const known = words.toLowerCase().split(' ');
    const found = Object.keys(RETENTION_YEARS).find((name) => known.includes(name));
    const body = { class: found ?? 'letter', confidencePercent: found === undefined ? 40 : 95 };
    return { kind: 'answer', body };
  },
});

const retention = read({
  name: 'retention',
  path: '/retention/:class',
  answer(_query, { class: name = '' }) {
    const years = RETENTION_YEARS[name];
    if (years === undefined) {
      return refusal(404, 'unknown_class', `There is no class ${name} of documents.`);
    }
    return { kind: 'answer', body: { class: name, years } };
  },
});

/** Versions are never erased: the latest one that was not superseded is the valid one. */
const publish = write({
  name: 'publish',
  path: '/entries/:caseId/versions',
  body: z.strictObject({ fileId: text, class: text }),
  orderId: (_body, { caseId }) => caseId ?? null,
  decide: (body, { caseId }, tx) => ({
    kind: 'effect',
    prefix: 'VER',
    document: { caseId, ...body, replaces: validVersion(tx, caseId)?.externalId ?? null },
  }),
  render: (effect) => ({ versionId: effect.externalId, ...effect.document }),
});

/** Makes the version before the named one the valid one again. */
const restore = write({
  name: 'restore',
  path: '/entries/:caseId/restorations',
  body: z.strictObject({ superseded: text }),
  orderId: (_body, { caseId }) => caseId ?? null,
  decide({ superseded }, { caseId }, tx) {
    const version = effectOf(tx, 'register', 'publish', superseded);
    if (version === undefined || version.orderId !== caseId) {
      return refusal(404, 'unknown_version', `${caseId} has no version ${superseded}.`);
    }
    return {
      kind: 'effect',
      prefix: 'RST',
      reverses: version.externalId,
      document: { caseId, superseded, valid: version.document.replaces },
    };
  },
  render: (effect) => ({ restorationId: effect.externalId, ...effect.document }),
});

const valid = read({
  name: 'valid',
  path: '/entries/:caseId',
  answer(_query, { caseId }, tx) {
    const version = validVersion(tx, caseId);
    if (version === undefined) {
      return refusal(404, 'unknown_entry', `${caseId} has no valid version.`);
    }
    return { kind: 'answer', body: { versionId: version.externalId, ...version.document } };
  },
});

/** Once the recipient has it, nobody can take it back. */
const deliver = write({
  name: 'deliver',
  path: '/deliveries',
  body: z.strictObject({ caseId: text, versionId: text, recipient: text }),
  orderId: (body) => body.caseId,
  decide: ({ caseId, versionId }) => ({
    kind: 'effect',
    prefix: 'DLV',
    document: { caseId, versionId },
  }),
  render: (effect) => ({ deliveryId: effect.externalId, ...effect.document }),
});

const lookup = read({
  name: 'lookup',
  path: '/acts',
  query: lookupQuery,
  answer({ correlationId, action }, _params, tx) {
    const acts = tx
      .effectsOf('register', correlationId)
      .filter((row) => action === undefined || row.operation === action)
      .map(asAct);
    return { kind: 'answer', body: { acts } };
  },
});

function asAct(row: EffectRow): JsonObject {
  const names: Readonly<Record<string, string>> = {
    publish: 'versionId',
    restore: 'restorationId',
    deliver: 'deliveryId',
  };
  return { [names[row.operation] ?? 'id']: row.externalId, ...row.document };
}

function validVersion(tx: Tx, caseId: string | undefined): EffectRow | undefined {
  return tx
    .effects()
    .filter((row) => row.system === 'register' && row.operation === 'publish')
    .findLast((row) => row.orderId === caseId && row.reversedBy.length === 0);
}

/** The register: ignores idempotency keys, finds what it did by correlation id. */
export const register: PartnerSystem = {
  name: 'register',
  honoursKeys: false,
  operations: [classify, retention, publish, restore, valid, deliver, lookup],
};
