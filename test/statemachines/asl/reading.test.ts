import { TERMINAL, validateAsl } from 'counterstep';
import { expect, test } from 'vitest';
import { reading } from '../samples.ts';
import { compiled, golden, run, throwing } from './machine.ts';

const machine = compiled(reading);

test('the machine is the one that was reviewed, and is valid', () => {
  const { kept, now } = golden('reading', machine);
  expect(now).toBe(kept);
  expect(validateAsl(machine)).toEqual({ kind: 'valid' });
});

test('without anything to recover, recovery goes straight to settle', async () => {
  const { tried, end } = await run(machine, { look: throwing(TERMINAL) });
  expect(tried).toEqual(['begin', 'look', 'assess', 'settle']);
  expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
});

test('a golden file that does not exist fails', () => {
  expect(() => golden('never-written', machine)).toThrow('ENOENT');
});
