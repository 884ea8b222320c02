import { validateAsl } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { document } from '../../../examples/document/saga.ts';
import { order } from '../../../examples/order/saga.ts';
import { refund } from '../../../examples/refund/saga.ts';
import { behaviourOf } from './behaviour.ts';
import { compiled, golden, run } from './machine.ts';

describe.each([refund, order, document])('the example saga $name', (saga) => {
  test('compiles to the machine that was reviewed, which is valid', () => {
    const machine = compiled(saga);
    const { kept, now } = golden(saga.name, machine);
    expect(now).toBe(kept);
    expect(validateAsl(machine)).toEqual({ kind: 'valid' });
  });

  behaviourOf(saga, run);
});
