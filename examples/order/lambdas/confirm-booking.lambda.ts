import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { orderOf } from '../saga.ts';
import { confirmBookingTool } from '../tools.ts';

export const handler = toolHandler(confirmBookingTool(deployedPartners()), {
  sagas: [orderOf(sagaType())],
});
