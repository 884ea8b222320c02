import { toolHandler } from 'counterstep/lambda';
import { partnersUrl, sagaType } from '../../environment.ts';
import { orderOf } from '../saga.ts';
import { confirmBookingTool } from '../tools.ts';

export const handler = toolHandler(confirmBookingTool({ partnersUrl: partnersUrl() }), {
  sagas: [orderOf(sagaType())],
});
