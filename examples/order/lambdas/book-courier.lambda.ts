import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { orderOf } from '../saga.ts';
import { bookCourierTool } from '../tools.ts';

export const handler = toolHandler(bookCourierTool(deployedPartners()), {
  sagas: [orderOf(sagaType())],
});
