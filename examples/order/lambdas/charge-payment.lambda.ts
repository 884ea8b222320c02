import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { orderOf } from '../saga.ts';
import { chargePaymentTool } from '../tools.ts';

export const handler = toolHandler(chargePaymentTool(deployedPartners()), {
  sagas: [orderOf(sagaType())],
});
