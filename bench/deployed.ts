import '../local/with-resolvers.ts';
import { StateMachine, type StateMachineDefinition } from 'aws-local-stepfunctions';
import { compileSaga, openRecord } from 'counterstep';
import { ledgerHandler, toolHandler } from 'counterstep/lambda';
import type { LambdaHost } from '../lambdas/aws/host.ts';
import { Outbox } from '../lambdas/outbox/outbox.ts';
import { selected } from '../lambdas/outbox/selected.ts';
import { systemClock } from '../lambdas/ports/clock.ts';
import type { DriveStarter } from '../lambdas/ports/drive-starter.ts';
import { systemEntropy } from '../lambdas/ports/entropy.ts';
import type { LedgerRecord } from '../lambdas/ports/ledger-store.ts';
import { type Log, silentLog } from '../lambdas/ports/log.ts';
import type { SagaProjection } from '../lambdas/ports/saga-projection.ts';
import { rowAfter } from '../lambdas/projection/row.ts';
import { SagaLedger } from '../lambdas/runtime/saga-ledger.ts';
import type { Principal } from '../lambdas/service/principal.ts';
import { SagaService } from '../lambdas/service/service.ts';
import { dynamoStores } from '../lambdas/stores/dynamodb/open.ts';
import { dynamoSagaIndex } from '../lambdas/stores/dynamodb/saga-index.ts';
import { createTables, type TableNames } from '../lambdas/stores/dynamodb/tables.ts';
import { PUBLISHED_BY_DEFAULT } from '../statemachines/transitions.ts';
import type { Kind } from './run.ts';
import { benchSaga, benchTools } from './sagas.ts';
import { type Metered, type StandIn, standIn, type Units } from './stand-in.ts';

/** What one saga uses of each service that is paid by use. */
export interface Usage {
  readonly kind: Kind;
  /** States entered, of any type. */
  readonly states: number;
  readonly ledgerCalls: number;
  readonly toolCalls: number;
  /** Invocations among them that threw. */
  readonly failedCalls: number;
  /** The execution ended as failed. */
  readonly failed: boolean;
  readonly ledgerEvents: number;
  /** Of the ledger's items, as stored. */
  readonly ledgerBytes: number;
  /** Consumed by the functions that drive the saga, the API's start, and the outbox. */
  readonly units: { readonly drive: Units; readonly start: Units; readonly outbox: Units };
  /** Events that a plane publishes by default. */
  readonly published: number;
  readonly publishedBytes: number;
  /** Of the lines that the functions log, without what the logger adds. */
  readonly logBytes: number;
  readonly logLines: number;
}

const TABLES: TableNames = {
  ledger: 'ledger',
  payloads: 'payloads',
  coordination: 'coordination',
};
const WHO: Principal = { tenant: 'bench', id: 'bench', roles: ['starter', 'reader'] };
const CONTEXT = { getRemainingTimeInMillis: () => 30_000 };

export interface UsageOptions {
  /** Of the stream, that the saga's events fall into. */
  readonly batches: number;
  /** Its tenant has a budget, which the saga is charged to and given back to. */
  readonly charged?: boolean;
}

/**
 * Runs one saga through the functions as they are deployed, over a stand-in for DynamoDB, and counts
 * what it uses. Every invocation is in a process that does not know the saga: nothing is remembered
 * from one to the next, and each reads the whole ledger.
 */
export async function usageOf(kind: Kind, options: UsageOptions): Promise<Usage> {
  const db = await standIn();
  try {
    await createTables(db.client().client, TABLES);
    return await new Run(db, options).one(kind);
  } finally {
    await db.close();
  }
}

class Run {
  readonly #drive: Metered;
  readonly #start: Metered;
  readonly #outbox: Metered;
  readonly #host: LambdaHost;
  readonly #options: UsageOptions;
  #logBytes = 0;
  #logLines = 0;
  #failedCalls = 0;
  #failed = false;
  #ledgerCalls = 0;
  #toolCalls = 0;
  #states = 0;
  #driven: Promise<void> = Promise.resolve();

  constructor(db: StandIn, options: UsageOptions) {
    this.#options = options;
    this.#drive = db.client();
    this.#start = db.client();
    this.#outbox = db.client();
    const drives: DriveStarter = {
      start: async ({ tenant, sagaId, epoch }) => {
        this.#driven = this.#machine({ tenant, sagaId, epoch });
      },
    };
    this.#host = { ...this.#over(this.#drive), drives, log: this.#log() };
  }

  async one(kind: Kind): Promise<Usage> {
    const host = { ...this.#host, ...this.#over(this.#start) };
    const index = dynamoSagaIndex({ client: this.#start.client, table: TABLES.coordination });
    const service = new SagaService({
      host,
      ledger: new SagaLedger(host),
      sagas: [benchSaga],
      index,
      ...(this.#options.charged === true ? { tenants: { '*': { openSagas: 100 } } } : {}),
      machineOf: () =>
        'arn:aws:states:us-east-1:123456789012:stateMachine:Counterstep-bench-standard:1',
    });
    const body = JSON.stringify({ order: `${kind}-00001`, fail: kind === 'failing' });
    const { id: sagaId } = await service.start(WHO, benchSaga.name, `${kind}-00001`, body);
    await this.#driven;
    const ledger = { tenant: WHO.tenant, sagaId };
    const startUnits = this.#start.units();
    const driveUnits = this.#drive.units();
    const records = await host.stores.ledger.read(ledger);
    const end = records.map((record) => openRecord(record)).at(-1);
    const wanted = kind === 'completing' ? 'saga_completed' : 'saga_compensated';
    if (end?.type !== wanted) throw new Error(`the saga ended with ${end?.type}, not ${wanted}`);
    const { published, publishedBytes, units } = await this.#passOn(ledger, records);
    return {
      kind,
      states: this.#states,
      ledgerCalls: this.#ledgerCalls,
      toolCalls: this.#toolCalls,
      failedCalls: this.#failedCalls,
      failed: this.#failed,
      ledgerEvents: records.length,
      ledgerBytes: records.reduce((sum, record) => sum + itemBytes(record, sagaId), 0),
      units: { drive: driveUnits, start: startUnits, outbox: units },
      published,
      publishedBytes,
      logBytes: this.#logBytes,
      logLines: this.#logLines,
    };
  }

  /** As the stream hands the ledger's items to the outbox. */
  async #passOn(
    id: { readonly tenant: string; readonly sagaId: string },
    records: readonly LedgerRecord[],
  ) {
    let published = 0;
    let publishedBytes = 0;
    const projection = dynamoSagaIndex({
      client: this.#outbox.client,
      table: TABLES.coordination,
    });
    await noteAnother(projection, records);
    const before = this.#outbox.units();
    const outbox = new Outbox({
      ledger: this.#over(this.#outbox).stores.ledger,
      projection,
      publisher: selected(
        {
          publish: async (events) => {
            published += events.length;
            publishedBytes += events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
            return [];
          },
        },
        PUBLISHED_BY_DEFAULT,
      ),
      clock: systemClock,
      log: silentLog,
    });
    const size = Math.ceil(records.length / this.#options.batches);
    for (let at = 0; at < records.length; at += size) {
      const report = await outbox.take(
        records.slice(at, at + size).map((record) => ({
          kind: 'appended',
          position: String(record.seq),
          id,
          record,
          at: Date.now(),
        })),
      );
      if (report.failed.length > 0) throw new Error('the outbox could not pass on every record');
    }
    const { writes, reads } = this.#outbox.units();
    const units = { writes: writes - before.writes, reads: reads - before.reads };
    return { published, publishedBytes, units };
  }

  async #machine(drive: {
    readonly tenant: string;
    readonly sagaId: string;
    readonly epoch: number;
  }): Promise<void> {
    const machine = new StateMachine(DEFINITION as unknown as StateMachineDefinition, {
      validationOptions: { noValidate: true },
    });
    const handlers = Object.keys(DEFINITION.States).map((state) => [state, this.#invoke]);
    const execution = machine.run(
      { drive },
      { overrides: { taskResourceLocalHandlers: Object.fromEntries(handlers) } },
    );
    const entered = async (): Promise<void> => {
      for await (const { type } of execution.eventLogs)
        if (type === 'StateEntered') this.#states += 1;
    };
    // A compensated saga's execution fails by that name; the ledger is asked how it ended.
    const ended = execution.result.catch(() => {
      this.#failed = true;
    });
    await Promise.all([ended, entered()]);
  }

  /** Each call in a function that has just been started. */
  readonly #invoke = async (parameters: unknown): Promise<{ readonly Payload: unknown }> => {
    const { FunctionName: name, Payload } = parameters as {
      readonly FunctionName: string;
      readonly Payload: never;
    };
    if (name === 'ledger') {
      this.#ledgerCalls += 1;
      const handler = ledgerHandler({ sagas: [benchSaga], host: this.#host });
      return { Payload: await this.#counted(handler(Payload, CONTEXT)) };
    }
    this.#toolCalls += 1;
    const tool = benchTools.find(({ contract }) => contract.name === name);
    if (tool === undefined) throw new Error(`the bench has no tool ${name}`);
    const handler = toolHandler(tool, { sagas: [benchSaga], host: this.#host });
    return { Payload: await this.#counted(handler(Payload, CONTEXT)) };
  };

  async #counted<T>(invocation: Promise<T>): Promise<T> {
    try {
      return await invocation;
    } catch (error) {
      this.#failedCalls += 1;
      throw error;
    }
  }

  #over({ client }: Metered) {
    return {
      clock: systemClock,
      entropy: systemEntropy,
      stores: dynamoStores({ client, tables: TABLES, mode: 'conditional-put' }),
    };
  }

  #log(): LambdaHost['log'] {
    const line = (message: string, data: unknown): void => {
      this.#logLines += 1;
      this.#logBytes += JSON.stringify({ message, ...(data as object) }).length;
    };
    const log: Log = { with: () => log, info: line, warn: line, error: line };
    return { ...log, begin: () => {} };
  }
}

const DEFINITION = compileSaga(benchSaga, {
  functions: { ledger: 'ledger', tool: (name) => name },
});

/** The first saga of a name has the name noted: what is counted is one of those that follow. */
async function noteAnother(
  projection: SagaProjection,
  [first]: readonly LedgerRecord[],
): Promise<void> {
  if (first === undefined) throw new Error('the saga has no first event');
  const id = { tenant: WHO.tenant, sagaId: 'another' };
  const row = rowAfter(undefined, id, openRecord(first), first.hash);
  if (row === undefined) throw new Error('the first event makes no row');
  await projection.note(id, { row });
}

/** Attribute names count too. */
function itemBytes(record: LedgerRecord, sagaId: string): number {
  const { body, prev, hash, nonce } = record;
  const names = 'pk sk body prev hash nonce'.replaceAll(' ', '').length;
  const key = `${WHO.tenant}/${sagaId}`.length + 2;
  return names + key + Buffer.byteLength(body) + prev.length + hash.length + nonce.length;
}
