import { defineSaga, defineTool } from 'counterstep';
import { DEPLOYMENT_ERROR } from 'counterstep/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { functionRoles, may, roleOf, statementsOf } from './policies.ts';
import {
  API_ENTRY,
  final,
  ofType,
  planeIn,
  type Resources,
  SYNTH_MS,
  TOOL_ENTRY,
  tableArn,
} from './synth.ts';

const io = z.object({ id: z.string() });
const reads = {
  effect: 'read_only',
  input: io,
  output: io,
  forward: { timeoutMs: 1_000 },
} as const;
const guarded = defineTool({
  ...reads,
  name: 'guarded',
  description: 'Has a breaker.',
  breaker: { failures: 5, withinMs: 60_000, openMs: 30_000 },
});
const plain = defineTool({ ...reads, name: 'plain', description: 'Has none.' });
const saga = defineSaga({ name: 'two', version: '1', input: io }, (steps) =>
  steps
    .step('a', guarded, { input: ({ input }) => input })
    .step('b', plain, { input: ({ input }) => input }),
);
const TENANTS = { acme: { openSagas: 1_000, recoveryCostMinor: { EUR: 500_000 } } };

let resources: Resources;
beforeAll(() => {
  const { stack, plane } = planeIn({ tenants: TENANTS });
  for (const tool of [guarded, plain]) plane.tool(tool, { entry: TOOL_ENTRY });
  plane.saga(saga);
  plane.api({ entry: API_ENTRY });
  resources = final(stack).resources;
}, SYNTH_MS);

const WRITES = ['PutItem', 'UpdateItem', 'DeleteItem'];

/** What the role may do to items of that partition in the coordination table. */
function to(partition: string, role: string): string[] {
  const table = tableArn(resources, /^SagasTablesCoordination/);
  const statements = statementsOf(resources, role);
  return ['GetItem', 'Query', ...WRITES].filter(
    (action) => may(statements, `dynamodb:${action}`, table, partition) === 'allowed',
  );
}

describe('who may touch a breaker', () => {
  test('the function of its tool, and only where the contract has one', () => {
    expect(to('breaker#guarded', roleOf(resources, 'Toolguarded'))).toEqual([
      'GetItem',
      'Query',
      'PutItem',
      'DeleteItem',
    ]);
    expect(to('breaker#guarded', roleOf(resources, 'Toolplain'))).toEqual([]);
    expect(to('breaker#plain', roleOf(resources, 'Toolplain'))).toEqual([]);
    expect(to('breaker#plain', roleOf(resources, 'Toolguarded'))).toEqual([]);
  });

  test('others may read it at most', () => {
    const others = functionRoles(resources).filter((role) => !role.includes('Toolguarded'));
    expect(others.length).toBeGreaterThan(4);
    for (const role of others) {
      const allowed = to('breaker#guarded', role);
      expect([role, allowed]).toEqual([role, role.includes('Api') ? ['Query'] : []]);
    }
  });
});

describe("who may touch a tenant's budget", () => {
  test('whoever starts sagas charges them, and gives nothing back', () => {
    expect(to('budget#acme', roleOf(resources, 'Api'))).toEqual([
      'GetItem',
      'PutItem',
      'UpdateItem',
    ]);
  });

  test('whoever ends sagas gives back, and charges nothing', () => {
    for (const part of ['Ledger', 'Sweep']) {
      expect(to('budget#acme', roleOf(resources, part))).toEqual([
        'GetItem',
        'UpdateItem',
        'DeleteItem',
      ]);
    }
  });

  test('no tool does', () => {
    for (const part of ['Toolguarded', 'Toolplain']) {
      expect(to('budget#acme', roleOf(resources, part))).toEqual([]);
    }
  });
});

describe('budgets of tenants', () => {
  const variables = (from: Resources): Record<string, unknown>[] =>
    ofType(from, 'AWS::Lambda::Function').map(
      ([, { Properties }]) =>
        (Properties.Environment as { Variables: Record<string, unknown> }).Variables,
    );

  test('are told to the function behind the API alone', () => {
    const told = variables(resources).filter((each) => 'COUNTERSTEP_TENANTS' in each);
    expect(told).toHaveLength(1);
    expect(told[0]).toHaveProperty('COUNTERSTEP_MACHINES');
    expect(JSON.parse(String(told[0]?.COUNTERSTEP_TENANTS))).toEqual(TENANTS);
  });

  test('are not spoken of where there are none', () => {
    const { stack, plane } = planeIn();
    plane.api({ entry: API_ENTRY });
    const without = variables(final(stack).resources);
    expect(without.filter((each) => 'COUNTERSTEP_TENANTS' in each)).toEqual([]);
  });

  test('that make no sense fail at synth, with the remedy', () => {
    expect(() => planeIn({ tenants: { acme: { openSagas: -1 } } })).toThrow(
      expect.objectContaining({
        name: DEPLOYMENT_ERROR,
        message: expect.stringContaining(
          'the budget of tenant "acme": openSagas is -1. Use a whole number, 0 or more',
        ) as string,
      }) as Error,
    );
  });
});
