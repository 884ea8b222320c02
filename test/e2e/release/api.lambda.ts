import { apiHandler } from 'counterstep/lambda';
import { built } from './built.ts';

export const handler = apiHandler({ sagas: built.sagas });
