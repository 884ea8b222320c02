import { type AnySaga, defineTool, type SagaType } from 'counterstep';
import {
  absent,
  type Call,
  committed,
  type ImplementedTool,
  implementTool,
  pending,
} from 'counterstep/lambda';
import * as z from 'zod/mini';
import { get, post } from '../../../examples/http.ts';

/** What one release of the trips deploys. */
export interface Release {
  readonly sagas: readonly AnySaga[];
  readonly tools: readonly ImplementedTool[];
}

/** A definition for each type of machine, side by side. */
export const TYPES: readonly SagaType[] = ['STANDARD', 'EXPRESS'];

export function tripOn(type: SagaType): string {
  return `trip-${type.toLowerCase()}`;
}

export const trip = z.object({ trip: z.string() });

/** Of calls that are answered at once. */
export const QUICK = {
  dedupe: 'key',
  timeoutMs: 10_000,
  settleMs: 1_000,
  retry: { maxAttempts: 4, backoffMs: 200, maxBackoffMs: 1_000 },
} as const;

/** Longer than a deployment takes, and within the four minutes that an Express saga may wait for a call. */
const SLOW = { ...QUICK, dedupe: 'lookup', timeoutMs: 200_000 } as const;

interface Told {
  readonly id: string;
  readonly status: 'settled' | 'pending' | 'absent';
}

/** Calls to the partner, signed by the release whose code makes them. */
export function partnerOf(release: 1 | 2) {
  const partner = { partnersUrl: String(process.env.PARTNER_URL) };
  return {
    send: async (operation: string, body: object, call: Call): Promise<Told> => {
      const { body: told } = await post<Told>(partner, `/${operation}`, { ...body, release }, call);
      return told;
    },
    ask: async (operation: string, call: Call, correlationId: string): Promise<Told> => {
      const about = { ...call, correlationId };
      return (await get<Told>(partner, `/${operation}`, about)).body;
    },
  };
}

/** The step that a deployment finds in the middle: the same in both releases but for their code. */
export const takePayment = defineTool({
  name: 'take-payment',
  description: 'Takes the payment of a trip.',
  effect: 'compensable',
  input: trip,
  output: z.object({ paymentId: z.string() }),
  externalIds: ({ output }) => ({ payment: output.paymentId }),
  reconcile: true,
  forward: SLOW,
  compensate: {
    input: z.object({ ref: z.string() }),
    from: ({ output }) => ({ ref: output.paymentId }),
    ...SLOW,
    timeoutMs: QUICK.timeoutMs,
  },
});

export function takePaymentTool(release: 1 | 2): ImplementedTool {
  const partner = partnerOf(release);
  return implementTool(takePayment, {
    forward: async (args, call) => {
      const { id, status } = await partner.send('take-payment', args, call);
      return status === 'pending' ? pending({ askAgainInMs: 1_000 }) : { paymentId: id };
    },
    compensate: async (args, call) => {
      await partner.send('cancel-payment', args, call);
    },
    reconcile: async ({ correlationId, action }, call) => {
      const { id, status } = await partner.ask('take-payment', call, correlationId);
      if (status === 'absent') return absent();
      if (status === 'pending') return pending({ askAgainInMs: 1_000 });
      return action === 'forward' ? committed({ paymentId: id }) : committed(undefined);
    },
  });
}
