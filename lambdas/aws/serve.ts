import type { DriveIds } from '../../statemachines/asl/payloads.ts';
import { executionNameOf } from '../../statemachines/rules/keys.ts';
import { DriveSignal } from '../runtime/drive-signal.ts';
import type { Invocation } from '../tool/request.ts';
import { invocationOf, type LambdaHandler } from './context.ts';
import type { LambdaHost } from './host.ts';

/** What every Task passes, besides what is its own. */
interface Call {
  readonly saga: string;
  readonly drive: DriveIds;
}

/**
 * The frame around every handler that a Task calls: names the saga in each line, tells the work how
 * long it has, notes what it threw. The error passes on as it is; Step Functions reads its `name`.
 */
export function serve<Event extends Call, Answer>(
  host: LambdaHost,
  keysOf: (event: Event) => Readonly<Record<string, string | number>>,
  work: (event: Event, invocation: Invocation) => Promise<Answer>,
): LambdaHandler<Event, Answer> {
  return async (event, context) => {
    checkCall(event);
    const { saga, drive } = event;
    const { tenant, sagaId, epoch } = drive;
    const execution = executionNameOf(sagaId, epoch);
    host.log.begin({ tenant, sagaId, saga, epoch, execution, ...keysOf(event) });
    try {
      return await work(event, invocationOf(context, host.clock));
    } catch (error) {
      note(host, error);
      throw error;
    } finally {
      host.metrics?.flush();
    }
  };
}

/** A signal is part of the ordinary course; anything else is not. */
function note({ log }: LambdaHost, error: unknown): void {
  if (error instanceof DriveSignal) {
    log.info('the drive is sent to assess', { signal: error.name, reason: error.message });
    return;
  }
  const { name, message } =
    error instanceof Error ? error : { name: `a thrown ${typeof error}`, message: '' };
  log.error('the invocation failed', { error: name, reason: message });
}

function checkCall(event: unknown): asserts event is Call {
  const call = (typeof event === 'object' && event !== null ? event : {}) as Partial<Call>;
  const { tenant, sagaId, epoch }: Partial<DriveIds> = call.drive ?? {};
  const texts = [tenant, sagaId, call.saga];
  if (texts.every((text) => typeof text === 'string' && text !== '') && isEpoch(epoch)) return;
  throw new TypeError(
    'this function is called by the state machine of a saga, with saga and drive (tenant, sagaId, epoch): start a saga instead of invoking it',
  );
}

function isEpoch(epoch: unknown): boolean {
  return Number.isSafeInteger(epoch) && Number(epoch) > 0;
}
