import { defineTool } from 'counterstep';
import { z } from 'zod';
import * as mini from 'zod/mini';

/** Contracts that the type tests share. Both builds of zod must do. */
export const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 500 } as const;

export const findOrder = defineTool({
  name: 'find-order',
  description: 'Reads an order.',
  effect: 'read_only',
  input: mini.object({ orderId: mini.string() }),
  output: mini.object({ sku: mini.string(), quantity: mini.int() }),
  forward: { timeoutMs: 1_000 },
});

export const reserve = defineTool({
  name: 'reserve',
  description: 'Holds items.',
  effect: 'reversible',
  input: z.object({ orderId: z.string(), sku: z.string(), quantity: z.int() }),
  output: z.object({ reservationId: z.string() }),
  externalIds: ({ output }) => ({ reservation: output.reservationId }),
  forward: call,
  compensate: {
    ...call,
    input: mini.object({ reservationId: mini.string() }),
    from: ({ output }) => ({ reservationId: output.reservationId }),
  },
});

export const notify = defineTool({
  name: 'notify',
  description: 'Sends a message.',
  effect: 'irreversible',
  input: z.object({ text: z.string() }),
  output: z.object({ messageId: z.string() }),
  forward: call,
  contain: call,
});
