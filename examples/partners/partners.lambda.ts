import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { partnersHandler } from './function.ts';

/** The name of the table that the partner systems keep their records in. */
const { PARTNERS_TABLE: table } = process.env;
if (table === undefined || table === '') {
  throw new Error('PARTNERS_TABLE is not set: set it in the function’s environment');
}

export const handler = partnersHandler({ client: new DynamoDBClient({}), table });
