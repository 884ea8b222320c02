import { type Duration, Token } from 'aws-cdk-lib';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { TASK_MARGIN_MS } from '../statemachines/asl/timeouts.ts';
import type { Problem } from '../statemachines/language/problems.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { AnyTool } from '../statemachines/language/tool.ts';
import { rolePolicyProblems } from './machine.ts';

/** A tool with the function that serves it. */
export interface ServedTool {
  readonly contract: AnyTool;
  readonly fn: NodejsFunction;
}

type Served = ReadonlyMap<string, ServedTool>;

/** Lambda's own limit. */
const MAX_LAMBDA_SECONDS = 900;

export function toolProblems(place: string, contract: AnyTool, served: Served): Problem[] {
  if (!served.has(contract.name)) return [];
  return [
    {
      place,
      problem: 'it has a function already, and a step could call only one of two',
      remedy: 'Keep one `plane.tool` call for it, or give one of two different tools another name',
    },
  ];
}

/** A function that ends before its own attempt would leave every slow call in doubt. */
export function timeoutProblems(
  place: string,
  neededSeconds: number,
  given: Duration | undefined,
): Problem[] {
  if (neededSeconds > MAX_LAMBDA_SECONDS) {
    return [
      {
        place,
        problem: `one attempt may take ${neededSeconds} s with its questions and records, and a Lambda ends after ${MAX_LAMBDA_SECONDS} s`,
        remedy: 'Declare a shorter timeoutMs, and answer pending() for work that takes longer',
      },
    ];
  }
  // A value that is known only when deployed is the caller's to answer for.
  if (given === undefined || given.isUnresolved()) return [];
  const seconds = given.toSeconds();
  const most = neededSeconds + TASK_MARGIN_MS / 1000;
  if (seconds < neededSeconds) {
    return [
      {
        place,
        problem: `its timeout of ${seconds} s is shorter than the ${neededSeconds} s that one attempt may take by its contract`,
        remedy: `Leave out \`timeout\`, give at least ${neededSeconds} s, or declare shorter calls in the contract`,
      },
    ];
  }
  if (seconds < most) return [];
  return [
    {
      place,
      problem: `its timeout of ${seconds} s would outlast the Task that calls it, which ends after ${most} s`,
      remedy:
        'Leave out `timeout`, or declare longer calls in the contract: both are counted from it',
    },
  ];
}

/** Leaves room for saga, hash and type in a machine's name of 80 characters. */
export const MAX_PREFIX = 30;

export function prefixProblems(prefix: string | undefined): Problem[] {
  if (prefix === undefined || Token.isUnresolved(prefix)) return [];
  if (prefix.length <= MAX_PREFIX && /^[\w-]+$/.test(prefix)) return [];
  return [
    {
      place: 'machinePrefix',
      problem: `${JSON.stringify(prefix)} cannot begin the names of state machines`,
      remedy: `Use 1 to ${MAX_PREFIX} letters, digits, "-" and "_"`,
    },
  ];
}

export function sagaProblems(
  definition: AnySaga,
  served: Served,
  sagas: ReadonlyMap<string, unknown>,
): Problem[] {
  const { name } = definition;
  const place = `saga "${name}"`;
  const problems: Problem[] = [];
  if (sagas.has(name)) {
    problems.push({
      place,
      problem: 'a saga of this name is on the plane already',
      remedy: 'Call `plane.saga` once for each name; earlier versions stay deployed by themselves',
    });
  }
  const tools = new Map<string, AnyTool>();
  for (const step of definition.steps) {
    const at = `${place}, step "${step.name}"`;
    problems.push(...contractProblems(at, step.tool, tools.get(step.tool.name), served));
    tools.set(step.tool.name, step.tool);
  }
  return [...problems, ...rolePolicyProblems(place, tools.size)];
}

function contractProblems(
  place: string,
  tool: AnyTool,
  seen: AnyTool | undefined,
  served: Served,
): Problem[] {
  if (seen === tool) return [];
  const serving = served.get(tool.name);
  if (serving === undefined) {
    return [
      {
        place,
        problem: `its tool "${tool.name}" has no function`,
        remedy: `Call \`plane.tool\` with the tool's contract and entry file before \`plane.saga\``,
      },
    ];
  }
  if (serving.contract === tool || serving.contract.version === tool.version) return [];
  return [
    {
      place,
      problem: `it is defined over version ${tool.version} of tool "${tool.name}", whose function serves version ${serving.contract.version}`,
      remedy: 'Give `plane.tool` the contract that the saga is defined over',
    },
  ];
}
