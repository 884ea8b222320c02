import { toolHandler } from 'counterstep/lambda';
import { partnersUrl, sagaType } from '../../environment.ts';
import { orderOf } from '../saga.ts';
import { reserveInventoryTool } from '../tools.ts';

export const handler = toolHandler(reserveInventoryTool({ partnersUrl: partnersUrl() }), {
  sagas: [orderOf(sagaType())],
});
