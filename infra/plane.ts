import { Duration, Names, RemovalPolicy } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Access } from '../statemachines/access.ts';
import { LEDGER_LAMBDA_SECONDS, lambdaTimeoutSeconds } from '../statemachines/asl/timeouts.ts';
import type { Problem } from '../statemachines/language/problems.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { AnyTool } from '../statemachines/language/tool.ts';
import { bookProblems, type TenantBudgetBook } from '../statemachines/rules/tenant-budget.ts';
import {
  MAX_PREFIX,
  prefixProblems,
  type ServedTool,
  sagaProblems,
  timeoutProblems,
  toolProblems,
} from './checks.ts';
import {
  type FunctionOptions,
  type FunctionSettings,
  type SagaFunctionProps,
  sagaFunction,
} from './functions.ts';
import {
  grantAppend,
  grantBreaker,
  grantDrives,
  grantGivingBack,
  grantPayloads,
  grantRegistry,
} from './grants.ts';
import { SagaApi, type SagaApiOptions } from './http-api.ts';
import { type AnyEventBus, Outbox, type OutboxOptions } from './outbox.ts';
import { DeploymentError, refuse } from './problems.ts';
import { Saga, type SagaOptions } from './saga.ts';
import { Sweep, type SweepOptions } from './sweep.ts';
import { SagaTables, type SagaTablesProps } from './tables.ts';
import { Watching, type WatchingOptions } from './watching.ts';

export interface SagaPlaneProps extends SagaTablesProps {
  /**
   * The file whose `handler` is `ledgerHandler({ sagas: [...] })` with every definition that
   * {@link SagaPlane.saga} gets.
   */
  readonly ledgerEntry: string;
  /** For all functions of the plane; each tool may say otherwise. */
  readonly functionProps?: SagaFunctionProps;
  /** Of the ledger function, beside those of all functions. */
  readonly ledgerFunctionProps?: SagaFunctionProps;
  /** Of every log group. Default: one year. */
  readonly logRetention?: RetentionDays;
  /** Of every log group; its policy MUST let CloudWatch Logs use it. Default: a key of AWS. */
  readonly logEncryptionKey?: IKey;
  /**
   * What the names of all state machines begin with, at most 30 characters. Default: made from the
   * construct's path. Choose another where machines retained from a deleted stack hold the names. It
   * MUST NOT change while a saga is open: the right to drive sagas is one to start machines of this
   * name, so theirs would stand still.
   */
  readonly machinePrefix?: string;
  /** The function that finds sagas which are due, and its queue. */
  readonly sweep?: SweepOptions;
  /** How the ledger's stream is read, and where events are published. */
  readonly outbox?: OutboxOptions;
  /**
   * What the sagas of a tenant may hold at once; `*` for every tenant not named. A start beyond it is
   * refused with 429. Default: nothing is limited, and nothing counted.
   */
  readonly tenants?: TenantBudgetBook;
  /** Alarms, whom they tell, and the dashboard. `false`: there are none. */
  readonly watching?: WatchingOptions | false;
}

/** How a tool's function is made: as CDK's `NodejsFunctionProps`. */
export interface ToolProps extends SagaFunctionProps {
  /** The file whose `handler` is `toolHandler(implementedTool, { sagas: [...] })`. */
  readonly entry: string;
  /** Default, and least: what one attempt may take by the tool's contract. */
  readonly timeout?: Duration;
}

/** Where sagas live: their tables, the functions they share, and the sagas themselves. */
export class SagaPlane extends Construct {
  readonly tables: SagaTables;
  /** Serves `begin`, `assess`, `settle` and `complete` of every saga. */
  readonly ledgerFunction: NodejsFunction;
  /** Finds, each minute, every saga that somebody must look at. */
  readonly sweep: Sweep;
  /** Feeds the projection and the event bus from the ledger's stream. */
  readonly outbox: Outbox;
  readonly watching: Watching | undefined;
  readonly machinePrefix: string;
  readonly #settings: FunctionSettings;
  readonly #tools = new Map<string, ServedTool>();
  readonly #sagas = new Map<string, Saga>();
  readonly #tenants: TenantBudgetBook | undefined;
  #api: SagaApi | undefined;

  constructor(scope: Construct, id: string, props: SagaPlaneProps) {
    super(scope, id);
    refuse([...prefixProblems(props.machinePrefix), ...bookProblems(props.tenants ?? {})]);
    this.#tenants = props.tenants;
    this.tables = new SagaTables(this, 'Tables', props);
    this.machinePrefix =
      props.machinePrefix ??
      Names.uniqueResourceName(this, { maxLength: MAX_PREFIX, separator: '-' });
    this.#settings = {
      plane: this.machinePrefix,
      tables: this.tables,
      removalPolicy: props.removalPolicy ?? RemovalPolicy.RETAIN,
      logRetention: props.logRetention ?? RetentionDays.ONE_YEAR,
      logEncryptionKey: props.logEncryptionKey,
      defaults: props.functionProps ?? {},
    };
    this.ledgerFunction = this.#ledger(props);
    const { machinePrefix } = this;
    this.sweep = new Sweep(this, 'Sweep', {
      ...props.sweep,
      settings: this.#settings,
      machinePrefix,
    });
    this.outbox = new Outbox(this, 'Outbox', { ...props.outbox, settings: this.#settings });
    if (props.watching === false) return;
    this.watching = new Watching(this, 'Watching', {
      ...props.watching,
      plane: machinePrefix,
      sweep: this.sweep,
      outbox: this.outbox,
    });
    this.watching.function('ledger', this.ledgerFunction);
  }

  /** Where the plane publishes what becomes of sagas: see `docs/events.md`. */
  get eventBus(): AnyEventBus {
    return this.outbox.eventBus;
  }

  get sweepFunction(): NodejsFunction {
    return this.sweep.fn;
  }

  get outboxFunction(): NodejsFunction {
    return this.outbox.fn;
  }

  /**
   * The function of one tool. It can reach the plane's tables; grant it, and only it, what the tool
   * itself needs.
   * @throws DeploymentError where the tool has a function already, or this one cannot work
   */
  tool(contract: AnyTool, props: ToolProps): NodejsFunction {
    const place = `tool "${contract.name}"`;
    const seconds = lambdaTimeoutSeconds(contract);
    refuse([
      ...toolProblems(place, contract, this.#tools),
      ...timeoutProblems(place, seconds, props.timeout),
    ]);
    const fn = this.#function(new Construct(this, `Tool-${contract.name}`), {
      service: contract.name,
      place,
      description: `Tool ${contract.name}: ${contract.description}`,
      timeout: props.timeout ?? Duration.seconds(seconds),
      entryContent: 'export const handler = toolHandler(yourTool, { sagas: [yourSaga] })',
      props,
    });
    grantPayloads(fn, this.tables.payloads);
    grantRegistry(fn, this.tables.coordination);
    if (contract.breaker !== undefined) {
      grantBreaker(fn, this.tables.coordination, contract.name);
    }
    this.#tools.set(contract.name, { contract, fn });
    this.watching?.function(`tool-${contract.name}`, fn);
    return fn;
  }

  /**
   * The state machine of one definition. Each of its tools needs its function first.
   * @throws DeploymentError that names every tool without a fitting function
   */
  saga(definition: AnySaga, options: SagaOptions = {}): Saga {
    refuse(sagaProblems(definition, this.#tools, this.#sagas));
    const names = new Set(definition.steps.map((step) => step.tool.name));
    const served = [...this.#tools].filter(([name]) => names.has(name));
    const saga = new Saga(this, `Saga-${definition.name}`, {
      ...options,
      definition,
      machinePrefix: this.machinePrefix,
      removalPolicy: this.#settings.removalPolicy,
      logRetention: this.#settings.logRetention,
      logEncryptionKey: this.#settings.logEncryptionKey,
      ledgerFunction: this.ledgerFunction,
      toolFunctions: new Map(served.map(([name, { fn }]) => [name, fn])),
    });
    this.#sagas.set(definition.name, saga);
    return saga;
  }

  /**
   * The HTTP API: one function, behind an HTTP API for services and agents (IAM) and, with `jwt`, one
   * for people. Nobody may call until {@link grantAccess} or a token's claims say for which tenant.
   * @throws DeploymentError where there is one already
   */
  api(options: SagaApiOptions): SagaApi {
    refuse(this.#api === undefined ? [] : [SECOND_API]);
    this.#api = new SagaApi(this, 'Api', {
      ...options,
      settings: this.#settings,
      machinePrefix: this.machinePrefix,
      tenants: this.#tenants,
      sagas: () => this.#sagas.values(),
    });
    const { iamApi, jwtApi } = this.#api;
    this.watching?.function('api', this.#api.function);
    this.watching?.api('iam', iamApi);
    if (jwtApi !== undefined) this.watching?.api('jwt', jwtApi);
    return this.#api;
  }

  /**
   * Lets an IAM role call the API, for one tenant. See {@link SagaApi.grantAccess}.
   * @throws DeploymentError
   */
  grantAccess(role: IRole, access: Access): void {
    if (this.#api === undefined) throw new DeploymentError([NO_API]);
    this.#api.grantAccess(role, access);
  }

  /** Every saga of the plane, by name. */
  get sagas(): ReadonlyMap<string, Saga> {
    return this.#sagas;
  }

  /** Functions by the name of their tool. */
  get toolFunctions(): ReadonlyMap<string, NodejsFunction> {
    return new Map([...this.#tools].map(([name, { fn }]) => [name, fn]));
  }

  #ledger({ ledgerEntry, ledgerFunctionProps }: SagaPlaneProps): NodejsFunction {
    const fn = this.#function(new Construct(this, 'Ledger'), {
      service: 'ledger',
      place: 'the ledger function (prop `ledgerEntry`)',
      description: 'Begins, assesses, settles and completes sagas',
      timeout: Duration.seconds(LEDGER_LAMBDA_SECONDS),
      entryContent: 'export const handler = ledgerHandler({ sagas: [yourSaga] })',
      props: { ...ledgerFunctionProps, entry: ledgerEntry },
    });
    grantRegistry(fn, this.tables.coordination);
    grantGivingBack(fn, this.tables.coordination);
    grantDrives(fn, this, this.machinePrefix);
    return fn;
  }

  #function(scope: Construct, options: FunctionOptions): NodejsFunction {
    const fn = sagaFunction(scope, this.#settings, options);
    grantAppend(fn, this.tables.ledger);
    return fn;
  }
}

const SECOND_API: Problem = {
  place: 'plane.api',
  problem: 'the plane has an API already',
  remedy: 'Call it once; for people and agents it is the same one',
};

const NO_API: Problem = {
  place: 'plane.grantAccess',
  problem: 'the plane has no API that a role could call',
  remedy: 'Call plane.api before',
};
