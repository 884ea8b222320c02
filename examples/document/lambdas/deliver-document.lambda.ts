import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { deliverDocumentTool } from '../tools.ts';

export const handler = toolHandler(deliverDocumentTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
