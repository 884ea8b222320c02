import { toolHandler } from 'counterstep/lambda';
import { partnersUrl } from '../../environment.ts';
import { order } from '../saga.ts';
import { confirmBookingTool } from '../tools.ts';

export const handler = toolHandler(confirmBookingTool({ partnersUrl: partnersUrl() }), {
  sagas: [order],
});
