import { toolHandler } from 'counterstep/lambda';
import { partnersUrl } from '../../environment.ts';
import { order } from '../saga.ts';
import { reserveInventoryTool } from '../tools.ts';

export const handler = toolHandler(reserveInventoryTool({ partnersUrl: partnersUrl() }), {
  sagas: [order],
});
