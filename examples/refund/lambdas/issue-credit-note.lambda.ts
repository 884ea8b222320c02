import { toolHandler } from 'counterstep/lambda';
import { partnersUrl } from '../../environment.ts';
import { refund } from '../saga.ts';
import { issueCreditNoteTool } from '../tools/issue-credit-note.ts';

export const handler = toolHandler(issueCreditNoteTool({ partnersUrl: partnersUrl() }), {
  sagas: [refund],
});
