import { toolHandler } from 'counterstep/lambda';
import { partnersUrl, sagaType } from '../../environment.ts';
import { refundOf } from '../saga.ts';
import { reserveStockTool } from '../tools/reserve-stock.ts';

export const handler = toolHandler(reserveStockTool({ partnersUrl: partnersUrl() }), {
  sagas: [refundOf(sagaType())],
});
