import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { classifyTextTool } from '../tools.ts';

export const handler = toolHandler(classifyTextTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
