import { validateAsl } from 'counterstep';
import { expect, test } from 'vitest';
import { reading } from '../samples.ts';
import { behaviourOfReading } from './behaviour.ts';
import { compiled, golden, run } from './machine.ts';

const machine = compiled(reading);

test('the machine is the one that was reviewed, and is valid', () => {
  const { kept, now } = golden('reading', machine);
  expect(now).toBe(kept);
  expect(validateAsl(machine)).toEqual({ kind: 'valid' });
});

behaviourOfReading(run);

test('a golden file that does not exist fails', () => {
  expect(() => golden('never-written', machine)).toThrow('ENOENT');
});
