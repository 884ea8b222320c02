import type { LedgerCall } from '../../statemachines/asl/payloads.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import { type LedgerAnswer, LedgerFunction, ledgerRequest } from '../ledger/ledger-function.ts';
import type { LambdaHandler } from './context.ts';
import { awsHost, type LambdaHost } from './host.ts';
import { serve } from './serve.ts';
import { stepFunctionsDrives } from './step-functions-drives.ts';

export interface LedgerHandlerOptions {
  /** Every definition that is deployed on the plane. */
  readonly sagas: readonly AnySaga[];
  /** Default: {@link awsHost} by the function's environment, with drives on Step Functions. */
  readonly host?: LambdaHost;
}

/**
 * The Lambda handler behind `begin`, `assess`, `settle` and `complete`.
 * @throws Error while the function starts, where its environment does not fit
 */
export function ledgerHandler(
  options: LedgerHandlerOptions,
): LambdaHandler<LedgerCall, LedgerAnswer> {
  const host = options.host ?? awsHost(process.env, { drives: stepFunctionsDrives() });
  const ledger = new LedgerFunction({ sagas: options.sagas, host });
  return serve(
    host,
    ({ op }) => ({ op }),
    (call: LedgerCall, invocation) => ledger.handle(ledgerRequest(call), invocation),
  );
}
