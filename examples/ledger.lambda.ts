import { ledgerHandler } from 'counterstep/lambda';
import { deployedSagas } from './chosen.ts';

export const handler = ledgerHandler({ sagas: deployedSagas() });
