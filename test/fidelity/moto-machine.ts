import { setTimeout as sleep } from 'node:timers/promises';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  GetExecutionHistoryCommand,
  type HistoryEvent,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { StateMachine, States } from 'counterstep';
import {
  type Answer,
  answerLikeLambda,
  type Call,
  DRIVE,
  type Run,
} from '../statemachines/asl/machine.ts';
import { type Invoked, type LambdaEndpoint, lambdaEndpoint } from './lambda-endpoint.ts';
import { type MotoServer, startMoto } from './moto-server.ts';

export interface MotoRun extends Run {
  /** The error by which the last try of a state failed, as the machine was told it. */
  readonly errors: Readonly<Record<string, string>>;
}

/** What a Task's `TimeoutSeconds` becomes where a test lets it time out, and how long its call takes. */
const TIMEOUT_SECONDS = 1;
const TOO_LONG_MS = 3_000;
/** More than the 256 KiB that Step Functions passes on. */
const TOO_LARGE = 'x'.repeat(257 * 1024);

/**
 * Runs machines on moto's interpreter, under the same contract as `run` in
 * `test/statemachines/asl/machine.ts`. Errors that only AWS itself reports are made as it makes them:
 * `Lambda.…` by an answer of the service, `States.DataLimitExceeded` by an answer too large,
 * `States.Timeout` by a call that outlasts its Task.
 */
export class Moto {
  readonly #server: MotoServer;
  readonly #lambda: LambdaEndpoint;
  readonly #client: SFNClient;
  readonly #functions: Map<string, (call: Call) => Promise<Invoked>>;
  #runs = 0;

  private constructor(parts: {
    readonly server: MotoServer;
    readonly lambda: LambdaEndpoint;
    readonly functions: Map<string, (call: Call) => Promise<Invoked>>;
  }) {
    this.#server = parts.server;
    this.#lambda = parts.lambda;
    this.#functions = parts.functions;
    this.#client = new SFNClient({
      endpoint: parts.server.endpoint,
      region: 'eu-central-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    });
  }

  static async start(): Promise<Moto> {
    const functions = new Map<string, (call: Call) => Promise<Invoked>>();
    const lambda = await lambdaEndpoint(async (name, payload) => {
      const [run = '', functionName = ''] = name.split('--');
      const invoke = functions.get(run);
      if (invoke === undefined) throw new Error(`no run called ${run} is under way`);
      return invoke({ ...callOf(payload as Payload), functionName });
    });
    const server = await startMoto(lambda.port);
    return new Moto({ server, lambda, functions });
  }

  async stop(): Promise<void> {
    this.#client.destroy();
    await this.#server.stop();
    await this.#lambda.close();
  }

  async run(
    machine: StateMachine,
    answers: Readonly<Record<string, Answer>> = {},
    input: unknown = { drive: DRIVE },
  ): Promise<MotoRun> {
    this.#runs += 1;
    const run = `run${this.#runs}`;
    const calls: Call[] = [];
    this.#functions.set(run, async (call) => {
      calls.push(call);
      return invoked(answers[call.state], call);
    });
    const created = await this.#client.send(
      new CreateStateMachineCommand({
        name: run,
        definition: JSON.stringify({ ...machine, States: adapted(machine.States, run, answers) }),
        roleArn: 'arn:aws:iam::123456789012:role/machine',
      }),
    );
    const { executionArn } = await this.#client.send(
      new StartExecutionCommand({
        stateMachineArn: created.stateMachineArn,
        name: run,
        input: JSON.stringify(input),
      }),
    );
    const end = await this.#ended(executionArn ?? '');
    const history = await this.#history(executionArn ?? '');
    return { calls, tried: calls.map(({ state }) => state), end, ...readHistory(history) };
  }

  async #ended(executionArn: string): Promise<Run['end']> {
    for (;;) {
      const { status, output, error } = await this.#client.send(
        new DescribeExecutionCommand({ executionArn }),
      );
      if (status === 'SUCCEEDED') {
        return { kind: 'succeeded', output: JSON.parse(output ?? 'null') as unknown };
      }
      if (status === 'FAILED') return { kind: 'failed', error: error ?? '' };
      if (status !== 'RUNNING') throw new Error(`an execution ended as ${status}`);
      await sleep(50);
    }
  }

  async #history(executionArn: string): Promise<readonly HistoryEvent[]> {
    const { events, nextToken } = await this.#client.send(
      new GetExecutionHistoryCommand({ executionArn, maxResults: 1000 }),
    );
    if (nextToken !== undefined) throw new Error('the history has more events than one page');
    return events ?? [];
  }
}

interface Payload {
  readonly op?: string;
  readonly step?: string;
  readonly action?: string;
}

/** A generated machine calls each function with what names the state. */
function callOf(payload: Payload): Pick<Call, 'state' | 'payload'> {
  const { op, step = '', action } = payload;
  const state = op ?? (action === 'recover' ? `recover.${step}` : step);
  return { state, payload: { ...payload } };
}

async function invoked(answer: Answer | undefined, call: Call): Promise<Invoked> {
  try {
    return { kind: 'answered', payload: (await answerLikeLambda(answer, call)) ?? null };
  } catch (thrown) {
    const { name, message } = thrown as Error;
    if (name === 'States.DataLimitExceeded') return { kind: 'answered', payload: TOO_LARGE };
    if (name === 'States.Timeout') {
      await sleep(TOO_LONG_MS);
      return { kind: 'answered', payload: null };
    }
    if (name.startsWith('Lambda.')) return { kind: 'service_error', code: name.slice(7) };
    return { kind: 'function_error', name, message };
  }
}

/**
 * The machine with the run's own function names, so that runs side by side are told apart, and with
 * little patience: pauses between tries of a second at most, and a short timeout where a call
 * outlasts it on purpose.
 */
function adapted(
  states: States,
  run: string,
  answers: Readonly<Record<string, Answer>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(states).map(([name, state]) => {
      if (state.Type === 'Parallel') {
        const Branches = state.Branches.map((branch) => ({
          ...branch,
          States: adapted(branch.States, run, answers),
        }));
        return [name, { ...state, Branches }];
      }
      if (state.Type !== 'Task') return [name, state];
      const { FunctionName, Payload } = state.Parameters;
      return [
        name,
        {
          ...state,
          Parameters: { FunctionName: `${run}--${FunctionName}`, Payload },
          Retry: state.Retry.map((retrier) =>
            retrier.IntervalSeconds === undefined ? retrier : { ...retrier, BackoffRate: 1 },
          ),
          ...(timesOut(answers[name]) ? { TimeoutSeconds: TIMEOUT_SECONDS } : {}),
        },
      ];
    }),
  );
}

function timesOut(answer: Answer | undefined): boolean {
  return answer !== undefined && 'timesOut' in answer;
}

function readHistory(events: readonly HistoryEvent[]): Pick<MotoRun, 'entered' | 'errors'> {
  const entered: string[] = [];
  const errors: Record<string, string> = {};
  const stateOf = new Map<number, string>();
  for (const event of events) {
    const name =
      event.stateEnteredEventDetails?.name ?? stateOf.get(event.previousEventId ?? 0) ?? '';
    stateOf.set(event.id ?? 0, name);
    if (event.stateEnteredEventDetails !== undefined) entered.push(name);
    const { error } =
      event.taskFailedEventDetails ??
      event.taskTimedOutEventDetails ??
      event.taskSubmitFailedEventDetails ??
      {};
    if (error !== undefined) errors[name] = error;
  }
  return { entered, errors };
}
