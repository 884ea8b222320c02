import { ledgerHandler } from 'counterstep/lambda';
import { small } from '../../lambdas/aws/small.ts';

export const handler = ledgerHandler({ sagas: [small] });
