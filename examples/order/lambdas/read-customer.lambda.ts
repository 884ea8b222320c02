import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { orderOf } from '../saga.ts';
import { readCustomerTool } from '../tools.ts';

export const handler = toolHandler(readCustomerTool(deployedPartners()), {
  sagas: [orderOf(sagaType())],
});
