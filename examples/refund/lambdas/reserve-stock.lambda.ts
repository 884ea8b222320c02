import { toolHandler } from 'counterstep/lambda';
import { partnersUrl } from '../../environment.ts';
import { refund } from '../saga.ts';
import { reserveStockTool } from '../tools/reserve-stock.ts';

export const handler = toolHandler(reserveStockTool({ partnersUrl: partnersUrl() }), {
  sagas: [refund],
});
