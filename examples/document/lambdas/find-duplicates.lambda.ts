import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { documentOf } from '../saga.ts';
import { findDuplicatesTool } from '../tools.ts';

export const handler = toolHandler(findDuplicatesTool(deployedPartners()), {
  sagas: [documentOf(sagaType())],
});
