import { apiHandler } from 'counterstep/lambda';
import { deployedSagas } from './chosen.ts';

export const handler = apiHandler({ sagas: deployedSagas() });
