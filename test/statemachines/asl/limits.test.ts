import {
  DefinitionError,
  defineSagaFromSteps,
  definitionBytes,
  historyEventBound,
  LEDGER_LAMBDA_SECONDS,
  lambdaTimeoutSeconds,
  MAX_DEFINITION_BYTES,
  MAX_HISTORY_EVENTS,
  toolTaskSeconds,
  validateAsl,
} from 'counterstep';
import { describe, expect, test } from 'vitest';
import { line, longLine, spec, stepOf, toolOf } from '../samples.ts';
import { compiled, run } from './machine.ts';

describe('ac-12: sixty steps', () => {
  test.each([
    ['over sixty tools', false],
    ['over one tool', true],
  ])('%s stay far below every limit', (_, oneTool) => {
    const machine = compiled(longLine(60, oneTool));
    expect(validateAsl(machine)).toEqual({ kind: 'valid' });
    expect(definitionBytes(machine)).toBeLessThan(MAX_DEFINITION_BYTES / 4);
    expect(historyEventBound(machine)).toBeLessThan(MAX_HISTORY_EVENTS / 4);
  });
  test('run in one drive', async () => {
    const { tried, end } = await run(compiled(longLine(60, false)));
    expect(tried).toHaveLength(62);
    expect(end.kind).toBe('succeeded');
  });
});

test('li-04: a saga whose machine could not be created or would run dry is refused', () => {
  const attempt = () => longLine(700, true);
  expect(attempt).toThrow(DefinitionError);
  expect(attempt).toThrow(/history events, more than 80 % of the 25000 allowed\. Split it/);
  expect(attempt).toThrow(/bytes, more than 80 % of the 1048576 allowed\. Split it/);
});

test('the bound on history events holds for a drive in which every Task fails on every try', async () => {
  const machine = compiled(line);
  const refuse = () => {
    throw new Error('for the test');
  };
  const forward = ['begin', 'look', 'hold', 'charge', 'send', 'complete'];
  const recovery = ['assess', 'recover.send', 'recover.charge', 'recover.hold', 'settle'];
  let events = 0;
  for (const state of [...forward, ...recovery]) {
    const { tried, entered } = await run(machine, { complete: refuse, [state]: refuse });
    // Four events a try at most, two for each state entered, two for the execution.
    events = Math.max(events, tried.length * 4 + entered.length * 2 + 2);
  }
  expect(events).toBeGreaterThan(50);
  expect(events).toBeLessThanOrEqual(historyEventBound(machine));
});

describe('timeouts', () => {
  test('a Lambda covers its longest action, its Task a little more', () => {
    // 5 s call + 10 s question + 5 s waiting + 10 s ledger
    expect(lambdaTimeoutSeconds(toolOf('read_only'))).toBe(30);
    // one question more in recovery
    expect(lambdaTimeoutSeconds(toolOf('reversible'))).toBe(40);
    expect(lambdaTimeoutSeconds(toolOf('reversible', 'slow', 60_000))).toBe(85);
    for (const { name, tool } of line.steps) {
      const planned = line.plan.steps.find((step) => step.name === name);
      expect(planned && toolTaskSeconds(planned)).toBe(lambdaTimeoutSeconds(tool) + 5);
    }
  });
  test('the longest timeouts allowed still fit Lambda and Express', () => {
    const longest = toolOf('irreversible', 'longest', 840_000);
    expect(lambdaTimeoutSeconds(longest)).toBeLessThanOrEqual(900);
    const express = defineSagaFromSteps({ ...spec, type: 'EXPRESS' }, [
      stepOf('s', toolOf('irreversible', 'express', 240_000)),
    ]);
    expect(express.plan.steps.every((step) => toolTaskSeconds(step) < 300)).toBe(true);
    expect(LEDGER_LAMBDA_SECONDS).toBeLessThanOrEqual(900);
  });
});
