import { toolHandler } from 'counterstep/lambda';
import { partnersUrl, sagaType } from '../../environment.ts';
import { refundOf } from '../saga.ts';
import { issueCreditNoteTool } from '../tools/issue-credit-note.ts';

export const handler = toolHandler(issueCreditNoteTool({ partnersUrl: partnersUrl() }), {
  sagas: [refundOf(sagaType())],
});
