import { sweepHandler } from '../aws/sweep-handler.ts';

export const handler = sweepHandler();
