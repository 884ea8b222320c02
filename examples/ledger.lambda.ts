import { ledgerHandler } from 'counterstep/lambda';
import { sagaType } from './environment.ts';
import { orderOf } from './order/saga.ts';
import { refundOf } from './refund/saga.ts';

const type = sagaType();

export const handler = ledgerHandler({ sagas: [refundOf(type), orderOf(type)] });
