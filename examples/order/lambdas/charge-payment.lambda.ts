import { toolHandler } from 'counterstep/lambda';
import { partnersUrl, sagaType } from '../../environment.ts';
import { orderOf } from '../saga.ts';
import { chargePaymentTool } from '../tools.ts';

export const handler = toolHandler(chargePaymentTool({ partnersUrl: partnersUrl() }), {
  sagas: [orderOf(sagaType())],
});
