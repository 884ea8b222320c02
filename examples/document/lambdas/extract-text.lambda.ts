import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { extractTextTool } from '../tools.ts';

export const handler = toolHandler(extractTextTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
