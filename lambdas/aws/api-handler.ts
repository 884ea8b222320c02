import type { AnySaga } from '../../statemachines/language/saga.ts';
import type { TenantBudgetBook } from '../../statemachines/rules/tenant-budget.ts';
import { problemAnswer, problemOf } from '../api/answers.ts';
import { createApp } from '../api/app.ts';
import type { SagaIndex } from '../ports/saga-index.ts';
import { SagaLedger } from '../runtime/saga-ledger.ts';
import type { Principal } from '../service/principal.ts';
import { Problem } from '../service/problems.ts';
import { SagaService } from '../service/service.ts';
import { dynamoClient } from '../stores/dynamodb/open.ts';
import { dynamoSagaIndex } from '../stores/dynamodb/saga-index.ts';
import { accessIn, claimsIn, machinesIn, tenantsIn } from './api-settings.ts';
import { type AccessOf, callerOf } from './caller.ts';
import type { LambdaContext, LambdaHandler } from './context.ts';
import { awsHost, type Environment, type LambdaHost, tablesFrom } from './host.ts';
import {
  checkHttpEvent,
  fitsLambda,
  type HttpAnswer,
  type HttpEvent,
  httpAnswer,
  requestOf,
} from './http-event.ts';
import { stepFunctionsDrives } from './step-functions-drives.ts';

export interface ApiHandlerOptions {
  /** Every definition that may be started, as they are deployed on the plane. */
  readonly sagas: readonly AnySaga[];
  /**
   * Which tenant an IAM role acts for. Default: what the stack grants with `grantAccess`. Give one of
   * your own to look roles up elsewhere, in a table that this function cannot write.
   */
  readonly accessOf?: AccessOf;
  /** What the sagas of a tenant may hold at once. Default: what the stack says (`tenants` of the plane). */
  readonly tenants?: TenantBudgetBook;
  /** Default: the function's own. */
  readonly environment?: Environment;
  /** Default: DynamoDB and Step Functions, by the environment. */
  readonly parts?: { readonly host: LambdaHost; readonly index: SagaIndex };
}

/**
 * The Lambda handler behind the HTTP APIs: the same app as in the local plane. Callers are who the
 * gateway's authorizers say they are.
 * @throws Error while the function starts, where its environment does not fit
 */
export function apiHandler(options: ApiHandlerOptions): LambdaHandler<HttpEvent, HttpAnswer> {
  const env = options.environment ?? process.env;
  const { host, index } = options.parts ?? deployedParts(env);
  const claims = claimsIn(env);
  const callers = {
    accessOf: options.accessOf ?? accessIn(env, host.log),
    ...(claims === undefined ? {} : { claims }),
  };
  const tenants = options.tenants ?? tenantsIn(env);
  const service = new SagaService({
    host,
    ledger: new SagaLedger(host),
    sagas: options.sagas,
    index,
    ...(tenants === undefined ? {} : { tenants }),
    machineOf: machinesIn(env, host.clock),
  });
  const app = createApp({
    service,
    authenticate: async (_request, event) => {
      const caller = await callerOf(event as HttpEvent, callers);
      host.log.begin(keysOf(event as HttpEvent, caller));
      return caller;
    },
  });

  return async (event, context) => {
    checkHttpEvent(event);
    host.log.begin(keysOf(event));
    const answer = await inTime(host, context, async () => {
      try {
        return await app.fetch(requestOf(event), event);
      } catch (error) {
        return problemAnswer(problemOf(error, host.clock, host.log), host.clock);
      }
    });
    host.log.info('answered', { status: answer.statusCode });
    host.metrics?.flush();
    return fitsLambda(answer) ? answer : httpAnswer(problemAnswer(tooLong(), host.clock));
  };
}

function deployedParts(env: Environment): { host: LambdaHost; index: SagaIndex } {
  const client = dynamoClient();
  return {
    host: awsHost(env, { client, drives: stepFunctionsDrives() }),
    index: dynamoSagaIndex({ client, table: tablesFrom(env).coordination }),
  };
}

/** What the gateway says of the request; neither its query nor its headers, which may hold secrets. */
function keysOf({ requestContext }: HttpEvent, caller?: Principal): Record<string, string> {
  const { requestId, routeKey } = requestContext;
  return {
    method: requestContext.http.method,
    ...(routeKey === undefined ? {} : { routeKey }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(caller === undefined ? {} : { tenant: caller.tenant, principal: caller.id }),
  };
}

/** Kept back from Lambda's own end, so that what is answered is still ours. */
const LAST_WORDS_MS = 1_500;
const PAUSE_MS = 1_000;

/** The answer, or a problem that says the same request may be sent again. */
async function inTime(
  { clock, log }: LambdaHost,
  context: LambdaContext,
  work: () => Promise<Response>,
): Promise<HttpAnswer> {
  let forget = (): void => {};
  const timeUp = new Promise<undefined>((resolve) => {
    const ms = Math.max(0, context.getRemainingTimeInMillis() - LAST_WORDS_MS);
    forget = clock.timer(ms, () => resolve(undefined));
  });
  const answered = work().then(httpAnswer);
  const answer = await Promise.race([answered, timeUp]);
  forget();
  if (answer !== undefined) return answer;
  log.warn('the time is up; the caller is told to send the request again');
  const problem = new Problem(
    'store-unavailable',
    'there was no answer in time; the request may have taken effect',
    'send the same request again, with the same idempotency key',
    { until: clock.now() + PAUSE_MS },
  );
  return httpAnswer(problemAnswer(problem, clock));
}

function tooLong(): Problem {
  return new Problem(
    'query-invalid',
    'the whole answer is larger than the 6 MB that can be given at once',
    'read it by pages',
    { at: 'query' },
  );
}
