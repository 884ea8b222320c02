import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { PLANE_VARIABLE, TABLE_VARIABLES } from '../../statemachines/asl/environment.ts';
import { type Clock, systemClock } from '../ports/clock.ts';
import type { DriveStarter } from '../ports/drive-starter.ts';
import { systemEntropy } from '../ports/entropy.ts';
import type { Host } from '../runtime/host.ts';
import { dynamoClient, dynamoStores, dynamoToolStores } from '../stores/dynamodb/open.ts';
import { storeClock } from '../stores/dynamodb/store-clock.ts';
import type { TableNames } from '../stores/dynamodb/tables.ts';
import { emfMetrics, type LambdaMetrics } from './emf-metrics.ts';
import { type LambdaLog, powertoolsLog } from './powertools-log.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A host whose log can be told which saga the invocation is about, and whose metrics when it ends. */
export interface LambdaHost extends Host {
  readonly log: LambdaLog;
  readonly metrics?: LambdaMetrics;
}

export interface AwsHostOptions {
  /** Default: DynamoDB of the function's own region. */
  readonly client?: DynamoDBClient;
  /** Only for functions whose role may start executions. */
  readonly drives?: DriveStarter;
  readonly log?: LambdaLog;
}

/**
 * The engine's ports on AWS: tables named by the environment, time as DynamoDB tells it.
 * @throws Error where a table's variable is missing, naming it
 */
export function awsHost(env: Environment, options: AwsHostOptions = {}): LambdaHost {
  return hostOver(env, options, dynamoStores);
}

/** The same for the function of a tool, which reaches no tenant's budget. */
export function awsToolHost(env: Environment, options: AwsHostOptions = {}): LambdaHost {
  return hostOver(env, options, dynamoToolStores);
}

function hostOver(
  env: Environment,
  options: AwsHostOptions,
  open: typeof dynamoStores,
): LambdaHost {
  const tables = tablesFrom(env);
  const client = options.client ?? dynamoClient();
  // Before the first call, so that every answer can correct it.
  const clock = storeClock(client, systemClock);
  const host = {
    clock,
    stores: open({ client, tables, mode: 'partiql' }),
    entropy: systemEntropy,
    log: options.log ?? powertoolsLog(),
    metrics: metricsOf(env, clock),
  };
  return options.drives === undefined ? host : { ...host, drives: options.drives };
}

/** Of a function outside a deployed plane the dimension says so. */
export function metricsOf(env: Environment, clock: Pick<Clock, 'now'>): LambdaMetrics {
  return emfMetrics({ plane: env[PLANE_VARIABLE] || 'none', clock });
}

/** @throws Error where a table's variable is missing, naming it */
export function tablesFrom(env: Environment): TableNames {
  const named = (variable: string): string => {
    const name = env[variable];
    if (name !== undefined && name !== '') return name;
    throw new Error(
      `the environment variable ${variable} is missing: deploy this function with a SagaPlane (counterstep/cdk), which sets it, or set it to the table's name`,
    );
  };
  return {
    ledger: named(TABLE_VARIABLES.ledger),
    payloads: named(TABLE_VARIABLES.payloads),
    coordination: named(TABLE_VARIABLES.coordination),
  };
}
