import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { orderOf } from '../saga.ts';
import { reserveInventoryTool } from '../tools.ts';

export const handler = toolHandler(reserveInventoryTool(deployedPartners()), {
  sagas: [orderOf(sagaType())],
});
