import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { readRetentionTool } from '../tools.ts';

export const handler = toolHandler(readRetentionTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
