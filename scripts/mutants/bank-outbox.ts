import type { Mutant } from './mutant.ts';

/** What leaves the ledgers: the projection, its events, and how both are made anew. */
export const outboxMutants: readonly Mutant[] = [
  {
    name: 'gaps-not-filled',
    why: 'the outbox goes on behind a lost record without reading the ledger',
    invariant: 14,
    edits: [
      {
        file: 'lambdas/outbox/catch-up.ts',
        find: 'const stored = await ledger.read(id, first - 1);',
        replace: 'const stored: LedgerRecord[] = [];',
      },
    ],
  },
  {
    name: 'rebuild-forgets-the-final',
    why: 'a rebuild leaves out sagas that have come to their end',
    invariant: 14,
    edits: [
      {
        file: 'lambdas/outbox/outbox.ts',
        find: 'const plan = await madeAnew(',
        replace: `const last = await this.#parts.ledger.head(id);
    if (last?.body.includes('"drive":"ended"') === true) return 0;
    const plan = await madeAnew(`,
      },
    ],
  },
  {
    name: 'rebuild-ends-with-a-page',
    why: 'a rebuild ends with the first page of a segment',
    invariant: 14,
    edits: [
      {
        file: 'lambdas/outbox/rebuild.ts',
        find: "page.cursor === undefined ? { kind: 'done' } :",
        replace: "page.cursor !== '' ? { kind: 'done' } :",
      },
    ],
  },
  {
    name: 'event-id-is-its-time',
    why: 'the id of a published event is not its place in the ledger',
    invariant: 14,
    edits: [
      {
        file: 'lambdas/outbox/plane-events.ts',
        find: `\${sagaId}/\${seq}\`;
  return {`,
        replace: `\${sagaId}/\${at}\`;
  return {`,
      },
    ],
  },
  {
    name: 'refused-counts-as-published',
    why: 'an event that the bus refused counts as published',
    invariant: 14,
    edits: [
      {
        file: 'lambdas/outbox/outbox.ts',
        find: 'code === undefined ? { count: wave + 1 } : { count: wave, code }',
        replace: '{ count: wave + 1 }',
      },
    ],
  },
  {
    name: 'failure-not-handed-again',
    why: 'what failed in a batch is not asked for again',
    invariant: 14,
    edits: [
      { file: 'lambdas/outbox/outbox.ts', find: 'failed.push(first.position);', replace: '' },
    ],
  },
];
