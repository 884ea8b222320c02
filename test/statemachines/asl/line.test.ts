import { TERMINAL, validateAsl } from 'counterstep';
import { expect, test } from 'vitest';
import { line } from '../samples.ts';
import { behaviourOfLine } from './behaviour.ts';
import { compiled, golden, run, throwing } from './machine.ts';

const machine = compiled(line);

test('the machine is the one that was reviewed, and is valid', () => {
  const { kept, now } = golden('line', machine);
  expect(now).toBe(kept);
  expect(validateAsl(machine)).toEqual({ kind: 'valid' });
});

behaviourOfLine(run);

test.each([
  ['Lambda.Unknown', 'States.ALL'],
  ['e', 'States.ALL'],
  ['States.DataLimitExceeded', 'States.DataLimitExceeded'],
])('ac-05: %s is caught by the entry for %s', async (name, entry) => {
  const { caught } = await run(machine, { charge: throwing(name), 'recover.hold': throwing(name) });
  expect(caught).toMatchObject({ charge: entry, 'recover.hold': entry });
});

test('an error that no try mends is caught by States.ALL', async () => {
  const { caught } = await run(machine, { charge: throwing(TERMINAL) });
  expect(caught).toEqual({ charge: 'States.ALL' });
});
