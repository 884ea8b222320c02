import { toolHandler } from 'counterstep/lambda';
import { partnersUrl, sagaType } from '../../environment.ts';
import { orderOf } from '../saga.ts';
import { bookCourierTool } from '../tools.ts';

export const handler = toolHandler(bookCourierTool({ partnersUrl: partnersUrl() }), {
  sagas: [orderOf(sagaType())],
});
