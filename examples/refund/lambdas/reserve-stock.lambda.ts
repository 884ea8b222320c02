import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedPartners } from '../../outside.ts';
import { refundOf } from '../saga.ts';
import { reserveStockTool } from '../tools/reserve-stock.ts';

export const handler = toolHandler(reserveStockTool(deployedPartners()), {
  sagas: [refundOf(sagaType())],
});
