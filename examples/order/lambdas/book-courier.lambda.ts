import { toolHandler } from 'counterstep/lambda';
import { partnersUrl } from '../../environment.ts';
import { order } from '../saga.ts';
import { bookCourierTool } from '../tools.ts';

export const handler = toolHandler(bookCourierTool({ partnersUrl: partnersUrl() }), {
  sagas: [order],
});
