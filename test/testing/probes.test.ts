import { expect, it } from 'vitest';
import { probes } from '../../scripts/mutants/probes.ts';

it.each(Object.entries(probes))('%s breaks no invariant', async (_name, probe) => {
  expect(await probe()).toEqual([]);
});
