import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeExecutionCommand,
  DescribeStateMachineCommand,
  SFNClient,
  type SFNClientConfig,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { LedgerEvent, Saga } from '../../examples/demo/plane-client.ts';
import { refundOf } from '../../examples/refund/saga.ts';
import { stepFunctionsDrives } from '../../lambdas/aws/step-functions-drives.ts';
import { systemClock } from '../../lambdas/ports/clock.ts';
import { systemEntropy } from '../../lambdas/ports/entropy.ts';
import { silentLog } from '../../lambdas/ports/log.ts';
import { SagaLedger } from '../../lambdas/runtime/saga-ledger.ts';
import { SagaService } from '../../lambdas/service/service.ts';
import { dynamoClient, dynamoStores } from '../../lambdas/stores/dynamodb/open.ts';
import { dynamoSagaIndex } from '../../lambdas/stores/dynamodb/saga-index.ts';
import type { TableNames } from '../../lambdas/stores/dynamodb/tables.ts';
import { ROLES } from '../../statemachines/access.ts';
import type { SagaType } from '../../statemachines/language/effects.ts';
import { executionNameOf } from '../../statemachines/rules/keys.ts';
import { TENANT } from './deployed.ts';
import type { AwsSide } from './worlds.ts';

/** AWS's own APIs at a stand-in, as somebody beside the plane would use them. */
export function clientConfig(endpoint: string) {
  return {
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  } satisfies SFNClientConfig;
}

/** The tables that the stack made, by their names. */
async function tablesOf({ endpoint, stack }: AwsSide): Promise<TableNames> {
  const client = new DynamoDBClient(clientConfig(endpoint));
  const { TableNames: names = [] } = await client.send(new ListTablesCommand({}));
  client.destroy();
  const named = (part: string): string => {
    const found = names.filter((name) => name.startsWith(`${stack}-SagasTables${part}`));
    const [only] = found;
    if (only === undefined || found.length > 1) {
      throw new Error(`${found.length} tables of the stack are a ${part} table: ${names}`);
    }
    return only;
  };
  return {
    ledger: named('Ledger'),
    payloads: named('Payloads'),
    coordination: named('Coordination'),
  };
}

/** The machine version that event 1 names. */
export function machineOf(events: readonly LedgerEvent[]): string {
  const machine = events[0]?.machine;
  if (machine === undefined) throw new Error('event 1 names no machine');
  return machine;
}

/** The published functions that the definition of a machine version calls, by their ARNs. */
export async function functionVersionsOf(endpoint: string, machine: string): Promise<string[]> {
  const client = new SFNClient(clientConfig(endpoint));
  const command = new DescribeStateMachineCommand({ stateMachineArn: machine });
  const { definition = '' } = await client.send(command);
  client.destroy();
  return [...new Set(definition.match(/arn:aws:lambda:[\w:.-]+:\d+/g))];
}

/** What GetFunction says of one published version, by Lambda's own HTTP API. */
export async function publishedVersion(endpoint: string, arn: string): Promise<unknown> {
  const [, name, version] = /:function:([^:]+):(\d+)$/.exec(arn) ?? [];
  const response = await fetch(`${endpoint}/2015-03-31/functions/${name}?Qualifier=${version}`);
  if (!response.ok) throw new Error(`there is no ${arn}: ${await response.text()}`);
  const { Configuration } = (await response.json()) as { readonly Configuration: unknown };
  return Configuration;
}

/** Executions of one saga. */
export class Executions {
  readonly #client: SFNClient;
  readonly #saga: string;
  readonly #machine: string;

  constructor(endpoint: string, saga: string, machine: string) {
    this.#client = new SFNClient(clientConfig(endpoint));
    this.#saga = saga;
    this.#machine = machine;
  }

  async stop(epoch: number): Promise<void> {
    await this.#client.send(new StopExecutionCommand({ executionArn: this.#arn(epoch) }));
  }

  async status(epoch: number): Promise<string | undefined> {
    const command = new DescribeExecutionCommand({ executionArn: this.#arn(epoch) });
    return (await this.#client.send(command)).status;
  }

  /** As the plane itself starts a drive. */
  start(epoch: number): Promise<void> {
    const drive = { tenant: TENANT, sagaId: this.#saga, epoch, machine: this.#machine };
    return stepFunctionsDrives(this.#client).start(drive);
  }

  /** `…:stateMachine:<name>:<version>` → `…:execution:<name>:<execution>` */
  #arn(epoch: number): string {
    const machine = this.#machine.replace(':stateMachine:', ':execution:').replace(/:\d+$/, '');
    return `${machine}:${executionNameOf(this.#saga, epoch)}`;
  }
}

export interface LostStart {
  readonly aws: AwsSide;
  readonly sagaType: SagaType;
  /** Version that event 1 names. */
  readonly machine: string;
  readonly key: string;
  readonly input: unknown;
}

/**
 * Starts a refund as the API does, and loses the call that starts its first drive. The service is the
 * plane's own, here in this process.
 */
export async function startAndLoseDrive(lost: LostStart): Promise<Pick<Saga, 'id'>> {
  const { aws, sagaType, machine, key, input } = lost;
  const client = dynamoClient(clientConfig(aws.endpoint));
  const tables = await tablesOf(aws);
  const host = {
    clock: systemClock,
    entropy: systemEntropy,
    log: silentLog,
    stores: dynamoStores({ client, tables, mode: 'partiql' }),
    drives: {
      start: async () => {
        throw new Error('the answer of StartExecution never came');
      },
    },
  };
  const service = new SagaService({
    host,
    ledger: new SagaLedger(host),
    sagas: [refundOf(sagaType)],
    index: dynamoSagaIndex({ client, table: tables.coordination }),
    machineOf: () => machine,
  });
  const caller = { tenant: TENANT, id: 'tester', roles: ROLES };
  try {
    return await service.start(caller, 'refund', key, JSON.stringify(input));
  } finally {
    client.destroy();
  }
}
