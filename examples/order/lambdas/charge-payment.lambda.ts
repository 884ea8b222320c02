import { toolHandler } from 'counterstep/lambda';
import { partnersUrl } from '../../environment.ts';
import { order } from '../saga.ts';
import { chargePaymentTool } from '../tools.ts';

export const handler = toolHandler(chargePaymentTool({ partnersUrl: partnersUrl() }), {
  sagas: [order],
});
