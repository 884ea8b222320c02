import { NOT_READY, TERMINAL, validateAsl } from 'counterstep';
import { expect, test } from 'vitest';
import { diamond } from '../samples.ts';
import { compiled, golden, run, throwing } from './machine.ts';

const machine = compiled(diamond);

test('the machine is the one that was reviewed, and is valid', () => {
  const { kept, now } = golden('diamond', machine);
  expect(now).toBe(kept);
  expect(validateAsl(machine)).toEqual({ kind: 'valid' });
});

test('a wave costs no Task of its own', async () => {
  const { tried, entered, end } = await run(machine);
  expect([...tried].sort()).toEqual(['begin', 'close', 'complete', 'left', 'open', 'right']);
  expect(entered.filter((state) => !tried.includes(state))).toEqual(['wave.2']);
  expect(end).toEqual({ kind: 'succeeded', output: { state: 'completed' } });
});

test('siblings finish beside a failing branch; the next claim is refused, and that leads to assess', async () => {
  let rightEnded = false;
  const { tried, entered, end } = await run(machine, {
    left: throwing(TERMINAL),
    right: async () => {
      await new Promise((later) => setImmediate(later));
      rightEnded = true;
    },
    close: () => {
      expect(rightEnded).toBe(true);
      return throwing(NOT_READY)({ state: 'close', functionName: '', payload: {} });
    },
  });
  expect(entered).toContain('caught.left');
  expect(tried.slice(-6)).toEqual(
    [
      'close',
      'assess',
      'recover.close',
      'recover.right',
      'recover.left',
      'recover.open',
      'settle',
    ].slice(-6),
  );
  expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
});

test('a failing recovery branch keeps back neither its sibling nor what follows', async () => {
  const { tried, entered, end } = await run(machine, {
    close: throwing(TERMINAL),
    'recover.left': throwing('Error'),
    'recover.open': throwing(NOT_READY),
    settle: () => ({ outcome: 'parked', state: 'needs_review' }),
  });
  expect(entered).toContain('left.left');
  for (const state of ['recover.close', 'recover.right', 'recover.open', 'settle']) {
    expect(tried).toContain(state);
  }
  expect(end).toEqual({ kind: 'succeeded', output: { state: 'needs_review' } });
});
