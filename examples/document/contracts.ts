import { defineTool, sensitive, skip } from 'counterstep';
import * as z from 'zod/mini';
import { CALL } from '../limits.ts';

/** Free text that some partners send along. */
const note = z.optional(z.string());
const caseId = z.string();
const fileId = z.string();

export const readIntake = defineTool({
  name: 'read-intake',
  description: 'Reads what came in for a case.',
  effect: 'read_only',
  input: z.object({ caseId }),
  output: z.object({ caseId, pages: z.int(), digest: z.string(), note }),
  forward: { ...CALL },
});

export const storeFile = defineTool({
  name: 'store-file',
  description: 'Puts a document into the store.',
  effect: 'reversible',
  input: z.object({ caseId, title: z.string(), digest: z.string() }),
  output: z.object({ fileId, note }),
  externalIds: ({ output }) => ({ file: output.fileId }),
  forward: { dedupe: 'key', ...CALL },
  compensate: {
    input: z.object({ fileId }),
    from: ({ output }) => ({ fileId: output.fileId }),
    dedupe: 'key',
    ...CALL,
  },
});

export const extractText = defineTool({
  name: 'extract-text',
  description: 'Reads the words of a stored document.',
  effect: 'read_only',
  input: z.object({ fileId }),
  output: z.object({ language: z.string(), words: z.array(z.string()), note }),
  forward: { ...CALL },
});

/** A model's guess, which decides nothing by itself: the tool refuses what it is not sure of. */
export const classifyText = defineTool({
  name: 'classify-text',
  description: 'Finds the class of a document by its words.',
  effect: 'read_only',
  input: z.object({ words: z.array(z.string()) }),
  output: z.object({ class: z.string(), confidencePercent: z.int(), note }),
  forward: { ...CALL },
});

/**
 * A register never erases: its newer version is superseded by the earlier valid one, which the hook makes
 * valid again. Of a first version nothing is valid afterwards.
 */
export const publishVersion = defineTool({
  name: 'publish-version',
  description: 'Makes a document the valid version of its case.',
  effect: 'supersede',
  input: z.object({ caseId, fileId, class: z.string() }),
  output: z.object({ versionId: z.string(), replaces: z.nullable(z.string()), note }),
  externalIds: ({ output }) => ({ version: output.versionId }),
  reconcile: true,
  forward: { dedupe: 'lookup', ...CALL },
  compensate: {
    input: z.object({ caseId, superseded: z.string() }),
    from: ({ input, output }) => ({ caseId: input.caseId, superseded: output.versionId }),
    dedupe: 'lookup',
    ...CALL,
  },
});

export const findDuplicates = defineTool({
  name: 'find-duplicates',
  description: 'Looks for other entries with the same content.',
  effect: 'read_only',
  input: z.object({ digest: z.string() }),
  output: z.object({ entryIds: z.array(z.string()), note }),
  forward: { ...CALL },
});

export const readRetention = defineTool({
  name: 'read-retention',
  description: 'Reads for how many years documents of a class are kept.',
  effect: 'read_only',
  input: z.object({ class: z.string() }),
  output: z.object({ class: z.string(), years: z.int(), note }),
  forward: { ...CALL },
});

/** What was once found cannot be unfound: the undo is a tombstone beside the entry. */
export const indexDocument = defineTool({
  name: 'index-document',
  description: 'Lists a document in the search index.',
  effect: 'compensable',
  input: z.object({ caseId, fileId, digest: z.string(), words: z.array(z.string()) }),
  output: z.object({ entryId: z.string(), note }),
  externalIds: ({ output }) => ({ entry: output.entryId }),
  forward: { dedupe: 'key', ...CALL },
  compensate: {
    input: z.object({ entryId: z.string(), reason: z.string() }),
    // Without a word in it nobody can have found it.
    from: ({ input, output }) =>
      input.words.length === 0
        ? skip('the entry has no words, so nobody can find it')
        : { entryId: output.entryId, reason: 'The document was not delivered' },
    dedupe: 'key',
    ...CALL,
  },
});

export const confirmEntry = defineTool({
  name: 'confirm-entry',
  description: 'Reads whether the index lists an entry.',
  effect: 'read_only',
  input: z.object({ entryId: z.string() }),
  output: z.object({ entryId: z.string(), state: z.literal('listed'), note }),
  forward: { ...CALL },
});

export const confirmVersion = defineTool({
  name: 'confirm-version',
  description: 'Reads which version of a case is valid.',
  effect: 'read_only',
  input: z.object({ caseId, versionId: z.string() }),
  output: z.object({ versionId: z.string(), note }),
  forward: { ...CALL },
});

export const deliverDocument = defineTool({
  name: 'deliver-document',
  description: 'Delivers a version to its recipient. It cannot be called back.',
  effect: 'irreversible',
  input: z.object({ caseId, versionId: z.string(), recipient: sensitive(z.string()) }),
  output: z.object({ deliveryId: z.string(), note }),
  externalIds: ({ output }) => ({ delivery: output.deliveryId }),
  reconcile: true,
  forward: { dedupe: 'lookup', ...CALL },
});
