import { validateAsl } from 'counterstep';
import { expect, test } from 'vitest';
import { diamond } from '../samples.ts';
import { behaviourOfDiamond } from './behaviour.ts';
import { compiled, golden, run } from './machine.ts';

const machine = compiled(diamond);

test('the machine is the one that was reviewed, and is valid', () => {
  const { kept, now } = golden('diamond', machine);
  expect(now).toBe(kept);
  expect(validateAsl(machine)).toEqual({ kind: 'valid' });
});

behaviourOfDiamond(run);
