import type { ToolResult } from 'counterstep';
import { absent, type Call, committed, implementTool, refused } from 'counterstep/lambda';
import { get, list, type Partners, post, textOf } from '../http.ts';
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

/** A class the model is less sure of than this is a person's to find. */
const LEAST_CONFIDENCE_PERCENT = 80;

/** Every tool of the saga, for a process that serves them all. */
export function documentTools(partners: Partners) {
  return {
    readIntake: readIntakeTool(partners),
    storeFile: storeFileTool(partners),
    extractText: extractTextTool(partners),
    classifyText: classifyTextTool(partners),
    publishVersion: publishVersionTool(partners),
    findDuplicates: findDuplicatesTool(partners),
    readRetention: readRetentionTool(partners),
    indexDocument: indexDocumentTool(partners),
    confirmEntry: confirmEntryTool(partners),
    confirmVersion: confirmVersionTool(partners),
    deliverDocument: deliverDocumentTool(partners),
  };
}

export function readIntakeTool(partners: Partners) {
  return implementTool(readIntake, {
    forward: async ({ caseId }, call) => {
      const path = `/documents/intake/${encodeURIComponent(caseId)}`;
      return (await get<ToolResult<typeof readIntake>>(partners, path, call)).body;
    },
  });
}

export function storeFileTool(partners: Partners) {
  return implementTool(storeFile, {
    forward: async (args, call) =>
      (await post<ToolResult<typeof storeFile>>(partners, '/documents/files', args, call)).body,
    compensate: async ({ fileId }, call) => {
      const path = `/documents/files/${encodeURIComponent(fileId)}/withdrawals`;
      const { body } = await post<unknown>(partners, path, {}, call);
      return done('withdrawal', body);
    },
  });
}

export function extractTextTool(partners: Partners) {
  return implementTool(extractText, {
    forward: async ({ fileId }, call) => {
      const path = `/documents/files/${encodeURIComponent(fileId)}/text`;
      return (await get<ToolResult<typeof extractText>>(partners, path, call)).body;
    },
  });
}

export function classifyTextTool(partners: Partners) {
  return implementTool(classifyText, {
    forward: async ({ words }, call) => {
      const path = `/register/classes?${new URLSearchParams({ words: words.join(' ') })}`;
      const { body } = await get<ToolResult<typeof classifyText>>(partners, path, call);
      if (body.confidencePercent < LEAST_CONFIDENCE_PERCENT) {
        throw refused('class_unclear', `only ${body.confidencePercent} % sure of "${body.class}"`);
      }
      return body;
    },
  });
}

export function publishVersionTool(partners: Partners) {
  const entry = (caseId: string): string => `/register/entries/${encodeURIComponent(caseId)}`;
  return implementTool(publishVersion, {
    forward: async ({ caseId, ...body }, call) => {
      const path = `${entry(caseId)}/versions`;
      return (await post<ToolResult<typeof publishVersion>>(partners, path, body, call)).body;
    },
    compensate: async ({ caseId, superseded }, call) => {
      const path = `${entry(caseId)}/restorations`;
      const { body } = await post<unknown>(partners, path, { superseded }, call);
      return done('restoration', body);
    },
    reconcile: async ({ action, correlationId }, call) => {
      const kind = action === 'forward' ? 'publish' : 'restore';
      const act = await actOf(partners, correlationId, kind, call);
      if (act === undefined) return absent();
      return action === 'forward'
        ? committed(act as ToolResult<typeof publishVersion>)
        : done('restoration', act);
    },
  });
}

export function findDuplicatesTool(partners: Partners) {
  return implementTool(findDuplicates, {
    forward: async ({ digest }, call) => {
      const path = `/search/duplicates?${new URLSearchParams({ digest })}`;
      const { body } = await get<ToolResult<typeof findDuplicates>>(partners, path, call);
      const [known] = body.entryIds ?? [];
      if (known !== undefined) throw refused('duplicate', `the index lists it as ${known}`);
      return body;
    },
  });
}

export function readRetentionTool(partners: Partners) {
  return implementTool(readRetention, {
    forward: async (args, call) => {
      const path = `/register/retention/${encodeURIComponent(args.class)}`;
      return (await get<ToolResult<typeof readRetention>>(partners, path, call)).body;
    },
  });
}

export function indexDocumentTool(partners: Partners) {
  return implementTool(indexDocument, {
    forward: async (args, call) =>
      (await post<ToolResult<typeof indexDocument>>(partners, '/search/entries', args, call)).body,
    compensate: async ({ entryId, reason }, call) => {
      const path = `/search/entries/${encodeURIComponent(entryId)}/tombstones`;
      const { body } = await post<unknown>(partners, path, { reason }, call);
      return done('tombstone', body);
    },
  });
}

export function confirmEntryTool(partners: Partners) {
  return implementTool(confirmEntry, {
    forward: async ({ entryId }, call) => {
      const path = `/search/entries/${encodeURIComponent(entryId)}`;
      return (await get<ToolResult<typeof confirmEntry>>(partners, path, call)).body;
    },
  });
}

export function confirmVersionTool(partners: Partners) {
  return implementTool(confirmVersion, {
    forward: async ({ caseId, versionId }, call) => {
      const path = `/register/entries/${encodeURIComponent(caseId)}`;
      const { body } = await get<ToolResult<typeof confirmVersion>>(partners, path, call);
      if (body.versionId !== versionId) {
        throw refused('version_replaced', `${body.versionId} is valid by now, not ${versionId}`);
      }
      return body;
    },
  });
}

export function deliverDocumentTool(partners: Partners) {
  return implementTool(deliverDocument, {
    forward: async (args, call) =>
      (await post<ToolResult<typeof deliverDocument>>(partners, '/register/deliveries', args, call))
        .body,
    reconcile: async ({ correlationId }, call) => {
      const act = await actOf(partners, correlationId, 'deliver', call);
      return act === undefined ? absent() : committed(act as ToolResult<typeof deliverDocument>);
    },
  });
}

/** What the register did under a correlation id, if anything. */
async function actOf(
  partners: Partners,
  correlationId: string,
  action: string,
  call: Call,
): Promise<unknown> {
  const query = new URLSearchParams({ correlationId, action });
  const { body } = await get<unknown>(partners, `/register/acts?${query}`, call);
  return list(body, 'acts')[0];
}

/** An undo is done; its document is named where the partner names it. */
function done(name: string, body: unknown) {
  const id = textOf(body, `${name}Id`);
  return committed(undefined, { externalIds: id === undefined ? {} : { [name]: id } });
}
