import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { indexDocumentTool } from '../tools.ts';

export const handler = toolHandler(indexDocumentTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
