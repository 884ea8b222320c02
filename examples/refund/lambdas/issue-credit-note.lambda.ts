import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { refundOf } from '../saga.ts';
import { issueCreditNoteTool } from '../tools/issue-credit-note.ts';

export const handler = toolHandler(issueCreditNoteTool(deployedPartners()), {
  sagas: [refundOf(sagaType())],
});
