import { toolHandler } from 'counterstep/lambda';
import { bookSeatTool, trip } from './trip.js';

export const handler = toolHandler(bookSeatTool, { sagas: [trip] });
