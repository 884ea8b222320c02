import '../../../local/with-resolvers.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StateMachine as Interpreter, type StateMachineDefinition } from 'aws-local-stepfunctions';
import { compileSaga, type SagaPlan, type StateMachine, type States } from 'counterstep';

/** Compiles with function names that golden files can keep. */
export function compiled(saga: { readonly plan: SagaPlan }): StateMachine {
  return compileSaga(saga, { functions: { ledger: 'ledger', tool: (name) => `tool-${name}` } });
}

/**
 * The text that the machine must be equal to. A missing file fails the test;
 * `UPDATE_GOLDEN=1` writes it, for a person to review.
 */
export function golden(name: string, machine: StateMachine): { kept: string; now: string } {
  const file = join(import.meta.dirname, 'golden', `${name}.asl`);
  const now = `${laidOut(machine)}\n`;
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, now);
  return { kept: readFileSync(file, 'utf8'), now };
}

/** JSON with one line for each field of a state, so that a change reads well in a pull request. */
function laidOut(level: object, indent = ''): string {
  const inner = `${indent}  `;
  const fields = Object.entries(level).map(([name, value]: [string, unknown]) => {
    const text =
      name === 'States' || (typeof value === 'object' && value !== null && 'Type' in value)
        ? laidOut(value as object, inner)
        : name === 'Branches'
          ? `[${(value as object[]).map((branch) => laidOut(branch, inner)).join(', ')}]`
          : JSON.stringify(value);
    return `${inner}${JSON.stringify(name)}: ${text}`;
  });
  return `{\n${fields.join(',\n')}\n${indent}}`;
}

/** One invocation of a Task's function. */
export interface Call {
  readonly state: string;
  readonly functionName: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Answers a state's calls. Throwing fails the try, with whatever was thrown. */
export type Answer = (call: Call) => unknown;

/** What both interpreters tell of an execution. */
export interface Run {
  /** States whose function was called, one entry for each try. */
  readonly calls: readonly Call[];
  readonly tried: readonly string[];
  readonly entered: readonly string[];
  readonly end:
    | { readonly kind: 'succeeded'; readonly output: unknown }
    | { readonly kind: 'failed'; readonly error: string };
}

export type RunMachine = (
  machine: StateMachine,
  answers?: Readonly<Record<string, Answer>>,
) => Promise<Run>;

interface LocalRun extends Run {
  /** The error names that let a catch act, by state. */
  readonly caught: Readonly<Record<string, string>>;
}

/** The ids every drive of these tests has. */
export const DRIVE = { tenant: 'acme', sagaId: 'saga-1', epoch: 3 } as const;

/** What a saga without any failure answers; tests override single states. */
const HAPPY: Readonly<Record<string, unknown>> = {
  begin: { ...DRIVE, softDeadlineAt: 0 },
  complete: { state: 'completed' },
  assess: {
    route: 'recover',
    state: 'compensating',
    drive: { ...DRIVE, softDeadlineAt: 99 },
  },
  settle: { outcome: 'compensated', state: 'compensated' },
};

/** Runs a machine in this process, without pauses between tries. */
export async function run(
  machine: StateMachine,
  answers: Readonly<Record<string, Answer>> = {},
): Promise<LocalRun> {
  const calls: Call[] = [];
  const tasks = tasksIn(machine.States);
  const handlers = tasks.map((state) => [
    state,
    async (parameters: unknown) => {
      const { FunctionName, Payload } = parameters as {
        FunctionName: string;
        Payload: Call['payload'];
      };
      const call: Call = { state, functionName: FunctionName, payload: Payload };
      calls.push(call);
      return { Payload: (await answerLikeLambda(answers[state], call)) ?? null };
    },
  ]);
  const interpreter = new Interpreter(machine as unknown as StateMachineDefinition, {
    validationOptions: { noValidate: true },
  });
  const execution = interpreter.run(
    { drive: DRIVE },
    {
      overrides: {
        taskResourceLocalHandlers: Object.fromEntries(handlers),
        retryIntervalOverrides: Object.fromEntries(tasks.map((state) => [state, 0])),
      },
    },
  );
  const [end, log] = await Promise.all([
    execution.result.then(
      (output): Run['end'] => ({ kind: 'succeeded', output }),
      (error: Error): Run['end'] => ({ kind: 'failed', error: (error.cause as Error).name }),
    ),
    history(execution.eventLogs),
  ]);
  return { calls, tried: calls.map((call) => call.state), ...log, end };
}

/** Lambda turns whatever was thrown into an error with a name. */
export async function answerLikeLambda(answer: Answer | undefined, call: Call): Promise<unknown> {
  try {
    return answer === undefined ? HAPPY[call.state] : await answer(call);
  } catch (thrown) {
    if (thrown instanceof Error) throw thrown;
    throw named(typeof thrown, String(thrown));
  }
}

async function history(
  events: AsyncIterable<{ type: string; state?: { name: string }; catch?: unknown }>,
): Promise<Pick<LocalRun, 'entered' | 'caught'>> {
  const entered: string[] = [];
  const caught: Record<string, string> = {};
  for await (const event of events) {
    const name = event.state?.name ?? '';
    if (event.type === 'StateEntered') entered.push(name);
    if (event.type === 'StateCaught') {
      const { catcher } = event.catch as { catcher: { ErrorEquals: string[] } };
      caught[name] = catcher.ErrorEquals.join();
    }
  }
  return { entered, caught };
}

export function tasksIn(states: States): string[] {
  return Object.entries(states).flatMap(([name, state]) => {
    if (state.Type === 'Parallel')
      return state.Branches.flatMap((branch) => tasksIn(branch.States));
    return state.Type === 'Task' ? [name] : [];
  });
}

export function named(name: string, message = 'for the test'): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

export function throwing(name: string): Answer {
  return () => {
    throw named(name);
  };
}

/** A call that outlasts its Task. Where no clock runs it is the error that follows. */
export const timingOut: Answer = Object.assign(throwing('States.Timeout'), { timesOut: true });
