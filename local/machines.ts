import './with-resolvers.ts';
import { StateMachine, type StateMachineDefinition } from 'aws-local-stepfunctions';
import { type LedgerFunction, ledgerRequest } from '../lambdas/ledger/ledger-function.ts';
import type { Clock } from '../lambdas/ports/clock.ts';
import type { Drive } from '../lambdas/ports/drive-starter.ts';
import type { SagaLedger } from '../lambdas/runtime/saga-ledger.ts';
import { toolRequest } from '../lambdas/tool/request.ts';
import type { ToolRuntime } from '../lambdas/tool/runtime.ts';
import { compileSaga } from '../statemachines/asl/compile.ts';
import type { LedgerCall, ToolCall } from '../statemachines/asl/payloads.ts';
import { LEDGER_LAMBDA_SECONDS, lambdaTimeoutSeconds } from '../statemachines/asl/timeouts.ts';
import { validateAsl } from '../statemachines/asl/validate.ts';
import { DEFAULT_REVIEW_MS } from '../statemachines/language/defaults.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import { executionNameOf } from '../statemachines/rules/keys.ts';

/** Runs the compiled machines in this process, with the same handlers as on AWS. */
export interface Machines {
  /** What event 1 keeps as the machine of a saga that starts now. */
  machineOf(saga: AnySaga): string;
  /** Runs one drive to its end. Rejects where the execution failed; the ledger tells the truth either way. */
  run(drive: Drive): Promise<void>;
  /** Task states entered so far, over all drives. */
  tasksEntered(): number;
}

export interface MachineParts {
  readonly sagas: readonly AnySaga[];
  readonly ledgerFunction: Pick<LedgerFunction, 'handle'>;
  readonly runtimes: ReadonlyMap<string, Pick<ToolRuntime, 'handle'>>;
  readonly clock: Clock;
  readonly ledger: SagaLedger;
  /** Their machines need no check before they run. Default: each is checked once. */
  readonly trusted?: boolean;
}

type Handler = (input: unknown) => Promise<JsonAnswer>;
type JsonAnswer = { readonly Payload: unknown };

const LEDGER = 'ledger';

/** @throws Error where a saga uses a tool that has no runtime, or its ASL is not valid */
export function localMachines(parts: MachineParts): Machines {
  let entered = 0;
  const count = (): void => {
    entered += 1;
  };
  const built = new Map(parts.sagas.map((saga) => [saga.name, build(saga, parts, count)]));
  return {
    machineOf: (saga) => `${saga.name}@${saga.plan.digest}`,
    run: async (drive) => {
      const name = drive.machine.slice(0, drive.machine.lastIndexOf('@'));
      const machine = built.get(name);
      return machine === undefined ? handOver(parts, drive, name) : machine(drive);
    },
    tasksEntered: () => entered,
  };
}

/** Nothing here can move the saga: a person is told, instead of trying for ever. */
async function handOver(parts: MachineParts, drive: Drive, name: string): Promise<void> {
  const explanation = `no definition of saga "${name}" is loaded: add it to the configuration, then resume the saga`;
  const command = {
    kind: 'drift',
    epoch: drive.epoch,
    explanation,
    reviewMs: DEFAULT_REVIEW_MS,
  } as const;
  await parts.ledger.write(drive, command, { actor: 'drive' });
}

function build(
  saga: AnySaga,
  parts: MachineParts,
  count: () => void,
): (drive: Drive) => Promise<void> {
  const { asl, machine } = compiled(saga, parts.trusted === true);
  const handlers = handlersOf(asl, saga, parts, count);
  return async (drive) => {
    const { tenant, sagaId, epoch } = drive;
    const overrides = { taskResourceLocalHandlers: handlers } as unknown as LocalOverrides;
    await machine.run(
      { drive: { tenant, sagaId, epoch } },
      {
        overrides,
        context: { Execution: { Name: executionNameOf(sagaId, epoch) } },
      },
    ).result;
  };
}

interface Compiled {
  readonly asl: ReturnType<typeof compileSaga>;
  readonly machine: StateMachine;
}

/** Definitions never change, and checking one takes longer than running it. */
const known = new WeakMap<AnySaga, Compiled>();

function compiled(saga: AnySaga, trusted: boolean): Compiled {
  const before = known.get(saga);
  if (before !== undefined) return before;
  const asl = compileSaga(saga, { functions: { ledger: LEDGER, tool: (name) => name } });
  const checked = trusted ? undefined : validateAsl(asl);
  if (checked?.kind === 'invalid') {
    throw new Error(
      `saga "${saga.name}" does not compile to a valid machine: ${JSON.stringify(checked.problems)}`,
    );
  }
  // Validated once here; the interpreter would do it again for every branch of every run.
  const machine = new StateMachine(asl as unknown as StateMachineDefinition, {
    validationOptions: { noValidate: true },
  });
  known.set(saga, { asl, machine });
  return { asl, machine };
}

type LocalOverrides = NonNullable<NonNullable<Parameters<StateMachine['run']>[1]>['overrides']>;

interface StateLike {
  readonly Type?: string;
  readonly Parameters?: unknown;
  readonly Branches?: readonly { readonly States: Readonly<Record<string, StateLike>> }[];
}

function handlersOf(
  asl: { readonly States: Readonly<Record<string, unknown>> },
  saga: AnySaga,
  parts: MachineParts,
  count: () => void,
): Record<string, Handler> {
  const handlers: Record<string, Handler> = {};
  const visit = (states: Readonly<Record<string, unknown>>): void => {
    for (const [name, raw] of Object.entries(states)) {
      const state = raw as StateLike;
      if (state.Type === 'Task') handlers[name] = counted(handlerOf(state, saga, parts), count);
      for (const branch of state.Branches ?? []) visit(branch.States);
    }
  };
  visit(asl.States);
  return handlers;
}

function counted(handler: Handler, count: () => void): Handler {
  return async (input) => {
    count();
    try {
      return await handler(input);
    } catch (error) {
      // The interpreter reads `error.name`; what is no Error has none, as on Lambda.
      throw error instanceof Error ? error : new Error(`a handler threw a ${typeof error}`);
    }
  };
}

function handlerOf(state: StateLike, saga: AnySaga, parts: MachineParts): Handler {
  const functionName = (state.Parameters as { readonly FunctionName?: string }).FunctionName ?? '';
  if (functionName === LEDGER) {
    return async (input) => {
      const { Payload } = input as JsonAnswer;
      const endsAt = parts.clock.now() + LEDGER_LAMBDA_SECONDS * 1000;
      return {
        Payload: await parts.ledgerFunction.handle(ledgerRequest(Payload as LedgerCall), {
          endsAt,
        }),
      };
    };
  }
  const runtime = parts.runtimes.get(functionName);
  const tool = saga.steps.find((step) => step.tool.name === functionName)?.tool;
  if (runtime === undefined || tool === undefined) {
    throw new Error(
      `saga "${saga.name}" uses tool "${functionName}", which has no implementation here: add it to "tools"`,
    );
  }
  const limitMs = lambdaTimeoutSeconds(tool) * 1000;
  return async (input) => {
    const { Payload } = input as JsonAnswer;
    const endsAt = parts.clock.now() + limitMs;
    return { Payload: await runtime.handle(toolRequest(Payload as ToolCall), { endsAt }) };
  };
}
