import { defineSaga, defineTool, sensitive } from 'counterstep';
import { type ImplementedTool, implementTool, refused } from 'counterstep/lambda';
import { z } from 'zod';
import type { Log } from '../../lambdas/ports/log.ts';
import { SagaService } from '../../lambdas/service/service.ts';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { type MemoryStores, memoryStores } from '../../lambdas/stores/memory/open.ts';
import { lineLog } from '../../local/console-log.ts';
import { startEngine } from '../../local/engine.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import { everyone } from '../service/live.ts';

/** What must never be read anywhere. */
export const SECRETS = {
  apiKey: 'the-providers-own-key-4711',
  bearer: 'bG9uZy1saXZlZC1iZWFyZXI',
  signature: 'f00dfeed0123456789abcdef',
  password: 'correct-horse',
};
export const UPLOAD = `https://bucket.s3.eu-central-1.amazonaws.com/a?X-Amz-Signature=${SECRETS.signature}`;
export const DATABASE = `postgres://app:${SECRETS.password}@db.internal:5432/orders`;

const callPartner = defineTool({
  name: 'call-partner',
  description: 'Calls a partner with a key of its own.',
  effect: 'reversible',
  input: z.object({ apiKey: sensitive(z.string()), upload: z.string() }),
  output: z.object({ id: z.string(), owner: z.string() }),
  forward: { dedupe: 'none', timeoutMs: 2_000, settleMs: 0 },
  compensate: {
    dedupe: 'key',
    timeoutMs: 2_000,
    settleMs: 0,
    input: z.object({ id: z.string(), owner: z.string() }),
    from: ({ output }) => output,
  },
});
const failLater = defineTool({
  name: 'fail-later',
  description: 'Refuses, so that what was done is undone.',
  effect: 'reversible',
  input: z.object({}),
  output: z.object({}),
  forward: { dedupe: 'key', timeoutMs: 2_000, settleMs: 0 },
  compensate: {
    dedupe: 'key',
    timeoutMs: 2_000,
    settleMs: 0,
    input: z.object({}),
    from: () => ({}),
  },
});
const partnerInput = z.object({ apiKey: sensitive(z.string()), upload: z.string() });
const partner = defineSaga({ name: 'partner', version: '1', input: partnerInput }, (saga) =>
  saga
    .step('call', callPartner, { input: ({ input }) => input })
    .step('fail', failLater, { input: () => ({}) }),
);

export interface Running {
  readonly service: SagaService;
  readonly stores: MemoryStores;
  readonly lines: string[];
  ended(key: string, ...states: SagaView['state'][]): Promise<SagaView>;
  close(): Promise<void>;
}

/**
 * The engine with a saga that calls a partner and then fails, so that the call is undone. Its log is
 * kept. Whoever opens it closes it.
 */
export async function running(
  forward: (call: { readonly tenant: string }) => unknown,
  compensate: (args: { owner: string }, call: { readonly tenant: string }) => unknown = () => {},
): Promise<Running> {
  const tools: ImplementedTool[] = [
    implementTool(callPartner, {
      forward: async (_, call) => (await forward(call)) as { id: string; owner: string },
      compensate: async (args, call) => void (await compensate(args, call)),
    }),
    implementTool(failLater, {
      forward: () => {
        throw refused('no', 'not today');
      },
      compensate: () => {},
    }),
  ];
  const stores = memoryStores();
  const lines: string[] = [];
  const log: Log = lineLog((line) => lines.push(line), Date.now);
  const sagas: AnySaga[] = [partner];
  const engine = await startEngine({
    sagas,
    tools,
    stores,
    heads: stores.openHeads(),
    ledgers: () => [],
    log,
  });
  const service = new SagaService({
    host: engine.host,
    ledger: engine.ledger,
    sagas,
    index: engine.projection,
    machineOf: (saga) => engine.machines.machineOf(saga),
  });
  const input = JSON.stringify({ apiKey: SECRETS.apiKey, upload: UPLOAD });
  const ended: Running['ended'] = async (key, ...states) => {
    const { id } = await service.start(everyone, 'partner', key, input);
    for (;;) {
      const saga = await service.get(everyone, id);
      if (states.includes(saga.state)) return saga;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  return { service, stores, lines, ended, close: () => engine.close() };
}
