import { ledgerHandler } from 'counterstep/lambda';
import { built } from './built.ts';

export const handler = ledgerHandler({ sagas: built.sagas });
