import { SagaLedger } from '../runtime/saga-ledger.ts';
import { Sweep, type SweepReport } from '../sweep/sweep.ts';
import type { LambdaHandler } from './context.ts';
import { awsHost, type LambdaHost } from './host.ts';
import { stepFunctionsDrives } from './step-functions-drives.ts';

/** The Lambda handler of the sweep: one pass over all due sagas each time it is called. */
export function sweepHandler(
  options: { readonly host?: LambdaHost } = {},
): LambdaHandler<unknown, SweepReport> {
  const host = options.host ?? awsHost(process.env, { drives: stepFunctionsDrives() });
  const sweep = new Sweep({ host, ledger: new SagaLedger(host) });
  return async () => {
    host.log.begin({});
    const report = await sweep.run();
    host.log.info('swept', { ...report, damaged: report.damaged.length });
    return report;
  };
}
