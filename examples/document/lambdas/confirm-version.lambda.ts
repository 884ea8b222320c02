import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { confirmVersionTool } from '../tools.ts';

export const handler = toolHandler(confirmVersionTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
