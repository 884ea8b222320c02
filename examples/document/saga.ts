import { defineSaga, type SagaType, sensitive } from 'counterstep';
import * as z from 'zod/mini';
import {
  classifyText,
  confirmEntry,
  confirmVersion,
  deliverDocument,
  extractText,
  findDuplicates,
  indexDocument,
  publishVersion,
  readIntake,
  readRetention,
  storeFile,
} from './contracts.ts';

/**
 * Takes in a document: stores it, makes it the valid version of its case, lists it in the index, and
 * delivers it. Three steps write and can be undone, each in a way of its own: the file is withdrawn
 * (`DD02`), the version is superseded by the one before (`DD05`), the entry gets a tombstone (`DD08`).
 * The reads between them find early what would make the delivery (`DD11`, the pivot) pointless.
 *
 * What came in (`DD01`) is a checkpoint: a document that could not be delivered is run again from there,
 * as the same document, once the cause is mended.
 */
export const document = documentOf('STANDARD');

/** The same saga on a machine of either type. */
export function documentOf(type: SagaType) {
  return defineSaga(
    {
      name: 'document',
      version: '1',
      type,
      input: z.object({
        caseId: z.string(),
        title: z.string(),
        recipient: sensitive(z.string()),
      }),
    },
    (saga) =>
      saga
        .step('DD01', readIntake, {
          checkpoint: true,
          input: ({ input }) => ({ caseId: input.caseId }),
        })
        .step('DD02', storeFile, {
          input: ({ input, results }) => ({
            caseId: input.caseId,
            title: input.title,
            digest: results.DD01.digest,
          }),
        })
        .step('DD03', extractText, { input: ({ results }) => ({ fileId: results.DD02.fileId }) })
        .step('DD04', classifyText, { input: ({ results }) => ({ words: results.DD03.words }) })
        .step('DD05', publishVersion, {
          input: ({ input, results }) => ({
            caseId: input.caseId,
            fileId: results.DD02.fileId,
            class: results.DD04.class,
          }),
        })
        .step('DD06', findDuplicates, { input: ({ results }) => ({ digest: results.DD01.digest }) })
        .step('DD07', readRetention, { input: ({ results }) => ({ class: results.DD04.class }) })
        .step('DD08', indexDocument, {
          input: ({ input, results }) => ({
            caseId: input.caseId,
            fileId: results.DD02.fileId,
            digest: results.DD01.digest,
            words: results.DD03.words,
          }),
        })
        .step('DD09', confirmEntry, { input: ({ results }) => ({ entryId: results.DD08.entryId }) })
        .step('DD10', confirmVersion, {
          input: ({ input, results }) => ({
            caseId: input.caseId,
            versionId: results.DD05.versionId,
          }),
        })
        .step('DD11', deliverDocument, {
          input: ({ input, results }) => ({
            caseId: input.caseId,
            versionId: results.DD10.versionId,
            recipient: input.recipient,
          }),
        }),
  );
}
