import { type AnySaga, defineSaga } from 'counterstep';
import { z } from 'zod';
import { findOrder, notify, reserve } from './contracts.ts';

const spec = { name: 'order', version: '1', input: z.object({ orderId: z.string() }) };

const order = defineSaga(
  { ...spec, businessKey: (input) => input.orderId, recovery: { after: { hold: ['tell'] } } },
  (saga) =>
    saga
      .step('find', findOrder, { input: ({ input }) => ({ orderId: input.orderId }) })
      .step('hold', reserve, {
        input: ({ input, results }) => ({
          orderId: input.orderId,
          sku: results.find.sku,
          quantity: results.find.quantity,
        }),
      })
      .step('tell', notify, {
        input: ({ results }) => ({ text: `${results.find.sku} ${results.hold.reservationId}` }),
      }),
);
export const sagas: readonly AnySaga[] = [order];

defineSaga(spec, (saga) =>
  saga.step('find', findOrder, {
    // @ts-expect-error the saga's input has no such field
    input: ({ input }) => ({ orderId: input.orderNumber }),
  }),
);

defineSaga(spec, (saga) =>
  saga.step('find', findOrder, {
    // @ts-expect-error the tool takes an `orderId`
    input: ({ input }) => ({ order: input.orderId }),
  }),
);

defineSaga(spec, (saga) =>
  saga
    .step('tell', notify, {
      // @ts-expect-error `find` comes later
      input: ({ results }) => ({ text: results.find.sku }),
    })
    .step('find', findOrder, { input: ({ input }) => ({ orderId: input.orderId }) }),
);

defineSaga(spec, (saga) =>
  saga
    .step('left', findOrder, { input: ({ input }) => ({ orderId: input.orderId }) })
    .step('right', findOrder, { after: [], input: ({ input }) => ({ orderId: input.orderId }) })
    .step('tell', notify, {
      after: ['right'],
      // @ts-expect-error `left` is not before `tell`
      input: ({ results }) => ({ text: results.left.sku }),
    }),
);

defineSaga(spec, (saga) =>
  saga
    .step('left', findOrder, { input: ({ input }) => ({ orderId: input.orderId }) })
    .step('right', findOrder, { after: [], input: ({ input }) => ({ orderId: input.orderId }) })
    .step('last', findOrder, {
      after: ['right'],
      input: ({ results }) => ({ orderId: results.right.sku }),
    })
    .step('tell', notify, {
      after: ['left', 'last'],
      input: ({ results }) => ({
        text: results.left.sku + results.right.sku + results.last.sku,
      }),
    }),
);

defineSaga(spec, (saga) =>
  saga
    .step('find', findOrder, { input: ({ input }) => ({ orderId: input.orderId }) })
    .step('tell', notify, {
      // @ts-expect-error there is no step of that name
      after: ['fetch'],
      input: () => ({ text: '' }),
    }),
);

defineSaga(spec, (saga) =>
  saga
    .step('find', findOrder, { input: ({ input }) => ({ orderId: input.orderId }) })
    // @ts-expect-error the name is taken
    .step('find', findOrder, { input: ({ input }) => ({ orderId: input.orderId }) }),
);

defineSaga(
  // @ts-expect-error the recovery graph names a step that does not exist
  { ...spec, recovery: { after: { tell: ['hold'] } } },
  (saga) => saga.step('tell', notify, { input: () => ({ text: '' }) }),
);

defineSaga(
  {
    ...spec,
    // @ts-expect-error a business key is a text
    businessKey: (input) => input.orderId.length,
  },
  (saga) => saga.step('tell', notify, { input: () => ({ text: '' }) }),
);

defineSaga(spec, (saga) =>
  saga.step('tell', notify, {
    // @ts-expect-error a checkpoint is named after its step
    checkpoint: 'told',
    input: () => ({ text: '' }),
  }),
);
