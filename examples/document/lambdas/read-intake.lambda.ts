import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { readIntakeTool } from '../tools.ts';

export const handler = toolHandler(readIntakeTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
