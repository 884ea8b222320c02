import type { SagaCensus } from '../ports/saga-census.ts';
import { SagaLedger } from '../runtime/saga-ledger.ts';
import { dynamoClient } from '../stores/dynamodb/open.ts';
import { dynamoSagaCensus } from '../stores/dynamodb/saga-census.ts';
import { reportCensus, reportSweep } from '../sweep/report.ts';
import { Sweep, type SweepReport } from '../sweep/sweep.ts';
import { invocationOf, type LambdaHandler } from './context.ts';
import { awsHost, type LambdaHost, tablesFrom } from './host.ts';
import { endedDriveIn, isStatusChange } from './status-change.ts';
import { stepFunctionsDrives } from './step-functions-drives.ts';

export interface SweepHandlerOptions {
  /** Default: {@link awsHost} by the function's environment, with drives on Step Functions. */
  readonly host?: LambdaHost;
  /** Default: by the function's environment; none where a `host` is given. */
  readonly census?: SagaCensus;
}

/** What one invocation did. */
export type SweepAnswer = SweepReport | { readonly granted: 0 | 1 };

interface Parts {
  readonly host: LambdaHost;
  readonly census: SagaCensus | undefined;
}

/** Kept back from Lambda's own end for the census and the metrics. */
const LAST_WORDS_MS = 10_000;

/**
 * The Lambda handler of the sweep. Called by the clock: one pass over all due sagas, then a census.
 * Called with an execution that failed, timed out or was stopped: a look at its saga alone.
 * @throws Error while the function starts, where its environment does not fit
 */
export function sweepHandler(
  options: SweepHandlerOptions = {},
): LambdaHandler<unknown, SweepAnswer> {
  const { host, census } = partsOf(options);
  const sweep = new Sweep({ host, ledger: new SagaLedger(host) });

  const pass = async (endsAt: number): Promise<SweepReport> => {
    const report = await sweep.run({ endsAt });
    host.log.info('swept', { ...report, damaged: report.damaged.length });
    if (host.metrics !== undefined) reportSweep(host.metrics, report);
    return report;
  };

  const count = async (): Promise<void> => {
    if (census === undefined || host.metrics === undefined) return;
    const now = host.clock.now();
    try {
      reportCensus(host.metrics, await census.take(now), now);
    } catch (error) {
      // The pass is done. That there is no census shows by itself: its numbers are missing.
      const reason = error instanceof Error ? error.message : 'unknown';
      host.log.error('the sagas could not be counted', { reason });
    }
  };

  return async (event, context) => {
    host.log.begin({});
    try {
      if (isStatusChange(event)) {
        const drive = endedDriveIn(event);
        const granted = drive !== undefined && (await sweep.ended(drive));
        if (granted) host.metrics?.count('DrivesGranted');
        return { granted: granted ? 1 : 0 };
      }
      const { endsAt } = invocationOf(context, host.clock);
      const report = await pass(endsAt - LAST_WORDS_MS);
      await count();
      return report;
    } finally {
      host.metrics?.flush();
    }
  };
}

function partsOf({ host, census }: SweepHandlerOptions): Parts {
  if (host !== undefined) return { host, census };
  const client = dynamoClient();
  return {
    host: awsHost(process.env, { client, drives: stepFunctionsDrives() }),
    census: census ?? dynamoSagaCensus({ client, table: tablesFrom(process.env).coordination }),
  };
}
