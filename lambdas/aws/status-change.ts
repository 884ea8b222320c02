import type { DriveIds } from '../../statemachines/asl/payloads.ts';
import { executionNameOf } from '../../statemachines/rules/keys.ts';
import type { EndedDrive } from '../sweep/sweep.ts';

/** `detail-type` of what Step Functions tells of Standard executions. */
const STATUS_CHANGE = 'Step Functions Execution Status Change';

interface StatusChange {
  readonly detail?: {
    readonly name?: unknown;
    /** The execution's input as JSON text; absent where it is large, which a drive's never is. */
    readonly input?: unknown;
  };
}

export function isStatusChange(event: unknown): event is StatusChange {
  return isObject(event) && event['detail-type'] === STATUS_CHANGE;
}

/**
 * The drive behind an execution that is over; `undefined` where it is none of ours, such as one that a
 * person started by hand under another name.
 */
export function endedDriveIn({ detail }: StatusChange): EndedDrive | undefined {
  const { tenant, sagaId, epoch } = driveIn(detail?.input);
  if (typeof tenant !== 'string' || typeof sagaId !== 'string') return undefined;
  if (!Number.isSafeInteger(epoch) || epoch === undefined) return undefined;
  return detail?.name === executionNameOf(sagaId, epoch) ? { tenant, sagaId, epoch } : undefined;
}

function driveIn(input: unknown): Partial<DriveIds> {
  if (typeof input !== 'string') return {};
  try {
    const parsed: unknown = JSON.parse(input);
    return isObject(parsed) && isObject(parsed.drive) ? parsed.drive : {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
