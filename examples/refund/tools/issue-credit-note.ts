import type { ToolResult } from 'counterstep';
import { absent, committed, implementTool } from 'counterstep/lambda';
import { get, list, member, type Partners, post } from '../../http.ts';
import { issueCreditNote } from '../contracts.ts';

const NOTES = '/erp/credit-notes';

export function issueCreditNoteTool(partners: Partners) {
  return implementTool(issueCreditNote, {
    forward: async (args, call) => {
      const { body } = await post<ToolResult<typeof issueCreditNote>>(partners, NOTES, args, call);
      return body;
    },
    compensate: async ({ creditNoteId, reason }, call) => {
      const path = `${NOTES}/${encodeURIComponent(creditNoteId)}/cancellations`;
      const { body } = await post<unknown>(partners, path, { reason }, call);
      return committed(undefined, {
        externalIds: named('cancellation', member(body, 'cancellationId')),
      });
    },
    reconcile: async (question, call) => {
      const query = new URLSearchParams({
        correlationId: question.correlationId,
        action: question.action === 'forward' ? 'create' : 'cancel',
      });
      const { body } = await get<unknown>(partners, `${NOTES}?${query}`, call);
      const document = list(body, 'documents')[0];
      if (document === undefined) return absent();
      return question.action === 'forward'
        ? committed(document as ToolResult<typeof issueCreditNote>)
        : committed(undefined, {
            externalIds: named('cancellation', member(document, 'documentId')),
          });
    },
  });
}

function named(name: string, id: unknown): Readonly<Record<string, string>> {
  return typeof id === 'string' ? { [name]: id } : {};
}
