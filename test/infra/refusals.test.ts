import { Duration, Token } from 'aws-cdk-lib';
import { defineSaga } from 'counterstep';
import { DeploymentError } from 'counterstep/cdk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { line, toolOf, tools } from '../statemachines/samples.ts';
import { final, ofType, planeIn, TOOL_ENTRY } from './synth.ts';

describe('what cannot work fails while synthesising, and says what to do', () => {
  test('a saga whose tools have no function: all of them are named', () => {
    const { plane } = planeIn();
    plane.tool(tools.look, { entry: TOOL_ENTRY });
    const attempt = () => plane.saga(line);
    expect(attempt).toThrow(DeploymentError);
    expect(attempt).toThrow(/step "hold".*"hold-stock".*plane\.tool/);
    expect(attempt).toThrow(/step "send".*"send-mail"/);
    expect(attempt).not.toThrow(/step "look"/);
  });

  test('two functions for one tool', () => {
    const { plane } = planeIn();
    plane.tool(tools.hold, { entry: TOOL_ENTRY });
    expect(() => plane.tool(tools.hold, { entry: TOOL_ENTRY })).toThrow(/"hold-stock".*already/);
  });

  test('two sagas of one name', () => {
    const { plane } = planeIn();
    plane.tool(tools.look, { entry: TOOL_ENTRY });
    const reading = () =>
      defineSaga({ name: 'reading', version: '1', input: z.object({ id: z.string() }) }, (saga) =>
        saga.step('look', tools.look, { input: ({ input }) => input }),
      );
    plane.saga(reading());
    expect(() => plane.saga(reading())).toThrow(/"reading".*already/);
  });

  test('a function of another version of the contract', () => {
    const { plane } = planeIn();
    plane.tool({ ...toolOf('read_only', 'look-up'), version: '2' }, { entry: TOOL_ENTRY });
    const reading = defineSaga(
      { name: 'reading', version: '1', input: z.object({ id: z.string() }) },
      (saga) => saga.step('look', tools.look, { input: ({ input }) => input }),
    );
    expect(() => plane.saga(reading)).toThrow(/version 1.*version 2/);
  });

  test.each([
    [1, /shorter than the \d+ s/],
    [600, /outlast the Task/],
  ])('a timeout of %i s for a call of 5 s', (seconds, message) => {
    const { plane } = planeIn();
    const timeout = Duration.seconds(seconds);
    expect(() => plane.tool(tools.hold, { entry: TOOL_ENTRY, timeout })).toThrow(message);
  });

  test('a call longer than a Lambda', () => {
    const { plane } = planeIn();
    const slow = { ...tools.hold, forward: { ...tools.hold.forward, timeoutMs: 890_000 } };
    expect(() => plane.tool(slow, { entry: TOOL_ENTRY })).toThrow(/pending\(\)/);
  });

  test('a timeout that is known only when deployed is left alone', () => {
    const { plane } = planeIn();
    const timeout = Duration.seconds(Token.asNumber({ Ref: 'Timeout' }));
    expect(() => plane.tool(tools.hold, { entry: TOOL_ENTRY, timeout })).not.toThrow();
  });

  test.each([
    ['ledgerEntry', () => planeIn({ ledgerEntry: 'nowhere/ledger.lambda.ts' }), /ledgerHandler\(/],
    [
      'a tool’s entry',
      () => planeIn().plane.tool(tools.hold, { entry: 'nowhere.lambda.ts' }),
      /tool "hold-stock".*toolHandler\(/,
    ],
  ])('%s that does not exist', (_, make, message) => {
    expect(make).toThrow(message);
  });

  test.each(['', 'a b', 'x'.repeat(31), 'größe'])('the machine prefix %j', (machinePrefix) => {
    expect(() => planeIn({ machinePrefix })).toThrow(/letters, digits/);
  });

  test('a machine prefix that holds is used', () => {
    const { plane, stack } = planeIn({ machinePrefix: 'shop' });
    for (const tool of Object.values(tools)) plane.tool(tool, { entry: TOOL_ENTRY });
    plane.saga(line);
    const [machine] = ofType(final(stack).resources, 'AWS::StepFunctions::StateMachine');
    expect(machine?.[1].Properties.StateMachineName).toBe('shop-line-standard');
  });
});
