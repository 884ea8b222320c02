import { defineSaga, defineTool } from 'counterstep';
import * as z from 'zod/mini';

/** Providers that soon forget a key: one that cannot be asked then, and one that can. */
const call = {
  dedupe: 'key',
  keyTtlMs: 6_000,
  timeoutMs: 1_000,
  settleMs: 1_000,
  retry: { maxAttempts: 4, backoffMs: 200, maxBackoffMs: 2_000 },
} as const;
const value = z.object({ id: z.string() });
const compensate = {
  ...call,
  input: value,
  from: ({ output }: { readonly output: { readonly id: string } }) => ({ id: output.id }),
};

const mute = defineTool({
  name: 'mute-and-forgetful',
  description: 'Honours a key for a few seconds, and cannot be asked.',
  effect: 'reversible',
  input: value,
  output: value,
  forward: call,
  compensate,
});

const askable = defineTool({
  name: 'askable-and-forgetful',
  description: 'Honours a key for a few seconds, and can be asked afterwards.',
  effect: 'compensable',
  reconcile: true,
  input: value,
  output: value,
  forward: call,
  compensate,
});

export const forgetful = defineSaga({ name: 'forgetful', version: '1', input: value }, (saga) =>
  saga
    .step('mute', mute, { input: ({ input }) => input })
    .step('askable', askable, { input: ({ input }) => input }),
);
