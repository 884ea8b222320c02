import { ledgerHandler } from 'counterstep/lambda';
import { order } from './order/saga.ts';
import { refund } from './refund/saga.ts';

export const handler = ledgerHandler({ sagas: [refund, order] });
