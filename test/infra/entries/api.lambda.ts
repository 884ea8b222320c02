import { apiHandler } from 'counterstep/lambda';
import { small } from '../../lambdas/aws/small.ts';

export const handler = apiHandler({ sagas: [small] });
