import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { confirmEntryTool } from '../tools.ts';

export const handler = toolHandler(confirmEntryTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
