import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { storeFileTool } from '../tools.ts';

export const handler = toolHandler(storeFileTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
