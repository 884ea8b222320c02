import { systemClock } from '../../lambdas/ports/clock.ts';
import { SagaLedger } from '../../lambdas/runtime/saga-ledger.ts';
import type { ImplementedTool } from '../../lambdas/tool/implementation.ts';
import { World } from '../service/world.ts';
import { heardLog } from './heard-log.ts';

/** A forward call of one step, outside any saga, and the log that hears of it. */
export function callJob(tool: ImplementedTool, args: unknown) {
  const log = heardLog();
  const host = { ...new World().host, clock: systemClock, log };
  const job = {
    host,
    ledger: new SagaLedger(host),
    tool,
    request: {
      tenant: 'acme',
      sagaId: 's-1',
      epoch: 1,
      saga: 'trip',
      step: 'out',
      action: 'forward',
      softDeadlineAt: 0,
    },
    invocation: { endsAt: host.clock.now() + 10_000 },
    action: 'forward',
    call: tool.contract.forward,
    args,
  } as const;
  return { job, log };
}
