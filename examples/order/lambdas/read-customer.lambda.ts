import { toolHandler } from 'counterstep/lambda';
import { partnersUrl, sagaType } from '../../environment.ts';
import { orderOf } from '../saga.ts';
import { readCustomerTool } from '../tools.ts';

export const handler = toolHandler(readCustomerTool({ partnersUrl: partnersUrl() }), {
  sagas: [orderOf(sagaType())],
});
