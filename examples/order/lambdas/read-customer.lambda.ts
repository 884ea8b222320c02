import { toolHandler } from 'counterstep/lambda';
import { partnersUrl } from '../../environment.ts';
import { order } from '../saga.ts';
import { readCustomerTool } from '../tools.ts';

export const handler = toolHandler(readCustomerTool({ partnersUrl: partnersUrl() }), {
  sagas: [order],
});
