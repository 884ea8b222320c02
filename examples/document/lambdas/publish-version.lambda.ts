import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { publishVersionTool } from '../tools.ts';

export const handler = toolHandler(publishVersionTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
