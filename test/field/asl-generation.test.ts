import { Duration, Token } from 'aws-cdk-lib';
import {
  type AnySaga,
  DefinitionError,
  defineSaga,
  defineSagaFromSteps,
  defineTool,
  definitionBytes,
  EFFECT_CLASSES,
  MAX_DEFINITION_BYTES,
  NEVER_RETRIED,
  recoverStateName,
  type State,
  type StateMachine,
  validateAsl,
} from 'counterstep';
import { DeploymentError, MAX_ROLE_POLICY_BYTES } from 'counterstep/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { executionNameOf, sagaIdOf } from '../../statemachines/rules/keys.ts';
import { grantedActions, may, roleOf, type Statement, statementsOf } from '../infra/policies.ts';
import {
  deployed,
  ofType,
  planeIn,
  type Resource,
  type Resources,
  SYNTH_MS,
  TOOL_ENTRY,
  textOf,
} from '../infra/synth.ts';
import {
  call,
  diamond,
  line,
  longLine,
  reading,
  spec,
  stepOf,
  toolOf,
} from '../statemachines/samples.ts';

/** Every class of effect, in an order that the checks allow: the pivot last. */
const everyClass = defineSagaFromSteps(
  { ...spec, name: 'every-class' },
  EFFECT_CLASSES.toSorted(
    (a, b) => Number(a === 'irreversible') - Number(b === 'irreversible'),
  ).map((effect) => stepOf(effect, toolOf(effect))),
);

const express = defineSagaFromSteps({ ...spec, name: 'short', type: 'EXPRESS' }, [
  stepOf('hold', toolOf('reversible', 'hold-stock')),
]);

/** The machine as Step Functions gets it: parsed from the final template, ARNs put in. */
function deployedMachine({ Properties }: Resource): StateMachine {
  const { DefinitionString, DefinitionSubstitutions } = Properties as {
    DefinitionString: string;
    DefinitionSubstitutions: Record<string, unknown>;
  };
  const put = DefinitionString.replaceAll(/\$\{(\w+)\}/g, (_, name: string) =>
    textOf(DefinitionSubstitutions[name]).replace(
      /^\$\{(\w+)\}$/,
      'arn:aws:lambda:eu-central-1:123456789012:function:$1:1',
    ),
  );
  return JSON.parse(put) as StateMachine;
}

function* statesOf(states: StateMachine['States']): Generator<readonly [string, State]> {
  for (const [name, state] of Object.entries(states)) {
    yield [name, state];
    if (state.Type !== 'Parallel') continue;
    for (const branch of state.Branches) yield* statesOf(branch.States);
  }
}

const machinesOf = (resources: Resources) =>
  ofType(resources, 'AWS::StepFunctions::StateMachine').map(([, machine]) => machine);

let resources: Resources;
beforeAll(() => {
  resources = deployed([line, diamond, reading, everyClass, express]).resources;
}, SYNTH_MS);

describe('retries and catches survive into the final template', () => {
  test('ac-03: of every Task and every Parallel, at every nesting level', () => {
    const kinds = new Set<string>();
    let tasks = 0;
    for (const machine of machinesOf(resources)) {
      for (const [name, state] of statesOf(deployedMachine(machine).States)) {
        kinds.add(state.Type);
        if (state.Type !== 'Task' && state.Type !== 'Parallel') continue;
        const caught = state.Catch.map(({ ErrorEquals }) => ErrorEquals);
        expect([name, caught]).toEqual([name, [['States.DataLimitExceeded'], ['States.ALL']]]);
        if (state.Type !== 'Task') continue;
        tasks += 1;
        const [never, always] = state.Retry;
        expect(never).toEqual({ ErrorEquals: [...NEVER_RETRIED], MaxAttempts: 0 });
        expect(always).toMatchObject({ ErrorEquals: ['States.ALL'], MaxAttempts: 3 });
        expect(state.TimeoutSeconds).toBeGreaterThan(0);
      }
    }
    expect([...kinds].sort()).toEqual(['Choice', 'Fail', 'Parallel', 'Pass', 'Succeed', 'Task']);
    expect(tasks).toBeGreaterThan(30);
  });

  test('ac-03: and each machine is valid, with nothing left to put in', () => {
    for (const machine of machinesOf(resources)) {
      const definition = deployedMachine(machine);
      expect(JSON.stringify(definition)).not.toContain('${');
      expect(validateAsl(definition)).toEqual({ kind: 'valid' });
    }
  });

  test('ac-03: a step that writes has its recovery in the template', () => {
    for (const saga of [line, diamond, everyClass, express]) {
      const name = new RegExp(`-${saga.name}-`);
      const machine = machinesOf(resources).find(({ Properties }) =>
        name.test(String(Properties.StateMachineName)),
      );
      if (machine === undefined) throw new Error(`saga ${saga.name} has no machine`);
      const names = [...statesOf(deployedMachine(machine).States)].map(([state]) => state);
      for (const step of saga.plan.steps) {
        expect(names).toContain(step.name);
        if (step.recovery !== undefined) expect(names).toContain(recoverStateName(step.name));
      }
    }
  });
});

describe('each principal has what its part needs, and not more', () => {
  const ON_EXECUTIONS = [
    'StartExecution',
    'StartSyncExecution',
    'StopExecution',
    'DescribeExecution',
    'RedriveExecution',
    'SendTaskSuccess',
    'SendTaskFailure',
    'SendTaskHeartbeat',
    'UpdateStateMachine',
    'DeleteStateMachine',
  ].map((name) => `states:${name}`);
  const arn = (name: string) =>
    `arn:\${AWS::Partition}:states:\${AWS::Region}:\${AWS::AccountId}:stateMachine:${name}`;

  const onMachines = (statements: readonly Statement[]) => {
    const machines = machinesOf(resources).map(({ Properties }) =>
      arn(String(Properties.StateMachineName)),
    );
    return ON_EXECUTIONS.filter((action) =>
      machines.some((machine) => may(statements, action, machine) === 'allowed'),
    );
  };

  test('ac-09: the engine starts drives and does nothing else to executions', () => {
    for (const part of ['SagasLedger', 'SagasSweep']) {
      const statements = statementsOf(resources, roleOf(resources, part));
      expect(onMachines(statements)).toEqual(['states:StartExecution']);
    }
  });

  test('ac-09: tools and machines have no right over executions, callbacks included', () => {
    for (const [role] of ofType(resources, 'AWS::IAM::Role')) {
      if (/^Sagas(Ledger|Sweep)/.test(role)) continue;
      expect([role, onMachines(statementsOf(resources, role))]).toEqual([role, []]);
    }
  });

  test('ac-09: no role is given every action of a service, and only those that know no resource are given "*"', () => {
    for (const [role] of ofType(resources, 'AWS::IAM::Role')) {
      const statements = statementsOf(resources, role);
      expect(grantedActions(statements).filter((action) => action.includes('*'))).toEqual([]);
      const everywhere = statements.filter(({ resources: on }) => on.includes('*'));
      const actions = new Set(everywhere.flatMap((statement) => statement.actions));
      for (const action of actions) expect(action).toMatch(/^(xray|logs):/);
    }
  });

  test('ac-09: no machine waits for a callback', () => {
    for (const { Properties } of machinesOf(resources)) {
      expect(Properties.DefinitionString).not.toContain('waitForTaskToken');
    }
  });
});

describe('an execution’s name is derived, and a repeat finds its own', () => {
  const start = { tenant: 'acme', principal: 'agent', name: 'refund' };

  test('ac-11: saga and epoch make the name: other sagas and other drives have others', () => {
    const [first, second] = ['order-1', 'order-2'].map((key) => sagaIdOf({ ...start, key }));
    const names = [first, second].flatMap((id) =>
      [1, 2].map((epoch) => executionNameOf(`${id}`, epoch)),
    );
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[\w-]{1,80}$/);
    expect(executionNameOf(sagaIdOf({ ...start, key: 'order-1' }), 1)).toBe(names[0]);
  });

  test('ac-11: no machine starts another one, so no child has a name at all', () => {
    for (const machine of machinesOf(resources)) {
      for (const [, state] of statesOf(deployedMachine(machine).States)) {
        if (state.Type === 'Task') expect(state.Resource).toBe('arn:aws:states:::lambda:invoke');
      }
    }
  });
});

describe('long sagas stay within the limits, or are refused in words', () => {
  /** Each reference as long as the longest ARN of a function. */
  const bytesOf = (role: Resource | undefined) =>
    JSON.stringify(role?.Properties.Policies, (_, value: unknown) =>
      typeof value === 'object' && value !== null && 'Fn::Join' in value
        ? textOf(value).replace(/\$\{[^}]+\}/, `${'a'.repeat(57)}${'f'.repeat(64)}`)
        : value,
    ).length;

  test.each([
    ['60 steps over 60 tools', longLine(60, false), 61],
    ['60 steps over one tool', longLine(60, true), 2],
  ])(
    'ac-12: %s',
    (_, saga, functions) => {
      const made = deployed([saga]).resources;
      const role = roleOf(made, 'SagasSagalong');
      expect(bytesOf(made[role])).toBeLessThan(MAX_ROLE_POLICY_BYTES);
      const invoke = statementsOf(made, role).find(({ actions }) =>
        actions.includes('lambda:InvokeFunction'),
      );
      expect(invoke?.resources).toHaveLength(functions);
      const [machine] = machinesOf(made);
      if (machine === undefined) throw new Error('no machine was made');
      expect(definitionBytes(deployedMachine(machine))).toBeLessThan(MAX_DEFINITION_BYTES);
      expect(Buffer.byteLength(JSON.stringify(made))).toBeLessThan(1024 * 1024);
    },
    SYNTH_MS,
  );

  test('ac-12: more tools than one role’s policy can list are refused, with the number that fits', () => {
    const { plane } = planeIn();
    const attempt = () => plane.saga(longLine(90, false));
    expect(attempt).toThrow(DeploymentError);
    expect(attempt).toThrow(/90 different tools.*room for 7\d \(10240 bytes\).*Split it/);
  });

  test('ac-12: a machine that Step Functions would refuse is refused when it is defined', () => {
    const attempt = () => longLine(700, true);
    expect(attempt).toThrow(DefinitionError);
    expect(attempt).toThrow(/history events.*Split it/);
  });
});

describe('names are checked before anything is deployed', () => {
  const input = z.object({ id: z.string() });
  const hold = toolOf('reversible', 'hold-stock');
  const named = (saga: string, step: string): AnySaga =>
    defineSaga({ name: saga, version: '1', input }, (steps) =>
      steps.step(step, hold, { input: ({ input }) => input }),
    );

  test.each(['re fund', 're/fund', 're:fund', 're<fund', 're"fund', "re'fund", 'refund🙂', ''])(
    'ac-14: the name %j is refused, of a saga, a step and a tool',
    (name) => {
      const shown = JSON.stringify(name);
      for (const define of [
        () => named(name, 'hold'),
        () => named('refund', name),
        () => defineTool({ ...toolSpec, name }),
      ]) {
        expect(define).toThrow(DefinitionError);
        if (name !== '') expect(define).toThrow(shown.slice(1, -1).slice(0, 2));
      }
    },
  );

  test('ac-14: a leading digit is legal, all the way to the template', () => {
    const made = deployed([named('3-way-match', '1st-hold')]).resources;
    const [machine] = machinesOf(made);
    expect(String(machine?.Properties.StateMachineName)).toMatch(/-3-way-match-standard$/);
    expect(String(machine?.Properties.DefinitionString)).toContain('"1st-hold":{"Type":"Task"');
  });

  test('ac-14: a value that is known only when deployed is left alone', () => {
    const { plane } = planeIn({ machinePrefix: Token.asString({ Ref: 'Prefix' }) });
    const timeout = Duration.seconds(Token.asNumber({ Ref: 'Timeout' }));
    plane.tool(hold, { entry: TOOL_ENTRY, timeout });
    expect(() => plane.saga(named('refund', 'hold'))).not.toThrow();
  });

  const toolSpec = {
    name: 'hold',
    description: 'Holds.',
    effect: 'irreversible',
    input,
    output: input,
    forward: call,
  } as const;
});

describe('no queue hands the same work to two handlers', () => {
  test('ri-25: no function is fed by a queue, so no visibility timeout can be shorter than its work', () => {
    const queues = ofType(resources, 'AWS::SQS::Queue').map(([queue]) => queue);
    const sources = ofType(resources, 'AWS::Lambda::EventSourceMapping').map(([, { Properties }]) =>
      JSON.stringify(Properties.EventSourceArn),
    );
    expect(sources.filter((source) => queues.some((queue) => source.includes(queue)))).toEqual([]);
    expect(sources.filter((source) => !source.includes('StreamArn'))).toEqual([]);
    const roles = ofType(resources, 'AWS::IAM::Role').map(([role]) => role);
    const receives = roles.filter((role) =>
      grantedActions(statementsOf(resources, role)).includes('sqs:ReceiveMessage'),
    );
    expect(receives).toEqual([]);
  });
});
