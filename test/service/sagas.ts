import { defineSaga, defineTool, sensitive } from 'counterstep';
import { z } from 'zod';

/** Small sagas that the tests of service, API and command line share. */

const call = { dedupe: 'key', timeoutMs: 2_000, settleMs: 0 } as const;
const orderId = z.object({ orderId: z.string() });

export const holdStock = defineTool({
  name: 'hold-stock',
  description: 'Holds items for an order.',
  effect: 'reversible',
  input: orderId,
  output: z.object({ holdId: z.string() }),
  externalIds: ({ output }) => ({ hold: output.holdId }),
  forward: call,
  compensate: {
    ...call,
    input: z.object({ holdId: z.string() }),
    from: ({ output }) => ({ holdId: output.holdId }),
  },
});

/** Nobody can be asked about it, and nothing keeps a second charge from happening. */
export const chargeCard = defineTool({
  name: 'charge-card',
  description: 'Charges the customer.',
  effect: 'reversible_with_cost',
  input: z.object({ orderId: z.string(), amount: z.int() }),
  output: z.object({ chargeId: z.string() }),
  externalIds: ({ output }) => ({ charge: output.chargeId }),
  forward: { ...call, dedupe: 'none', timeoutMs: 500 },
  compensate: {
    ...call,
    input: z.object({ chargeId: z.string(), amount: z.int() }),
    from: ({ input, output }) => ({ chargeId: output.chargeId, amount: input.amount }),
  },
  cost: { estimateMinor: 300, currency: 'EUR' },
});

export const sendMail = defineTool({
  name: 'send-mail',
  description: 'Tells the customer.',
  effect: 'irreversible',
  input: z.object({ email: z.string() }),
  output: z.object({ messageId: z.string() }),
  forward: call,
});

export const order = defineSaga(
  {
    name: 'order',
    version: '1',
    input: z.object({
      orderId: z.string(),
      amount: z.int().max(10_000),
      email: sensitive(z.email()),
    }),
    deadlineMs: 86_400_000,
    recovery: { ceiling: { costMinor: 100, currency: 'EUR' } },
  },
  (saga) =>
    saga
      .step('hold', holdStock, { input: ({ input }) => ({ orderId: input.orderId }) })
      .step('charge', chargeCard, {
        input: ({ input }) => ({ orderId: input.orderId, amount: input.amount }),
      })
      .step('mail', sendMail, { input: ({ input }) => ({ email: input.email }) }),
);

/** One refund of one order: the same whoever asks for it, and under whatever key. */
export const refund = defineSaga(
  {
    name: 'refund',
    version: '1',
    input: z.object({ orderId: z.string(), operation: z.string() }),
    businessKey: (input) =>
      input.orderId === '' ? '' : JSON.stringify([input.orderId, input.operation]),
  },
  (saga) => saga.step('hold', holdStock, { input: ({ input }) => ({ orderId: input.orderId }) }),
);

/** Takes nearly anything, so that a test decides what. */
export const document = defineSaga(
  { name: 'document', version: '1', input: z.record(z.string(), z.unknown()) },
  (saga) => saga.step('hold', holdStock, { input: () => ({ orderId: 'any' }) }),
);

export const sagas = [order, refund, document];

export const orderInput = { orderId: 'A-1', amount: 4_000, email: 'jo@example.com' };
