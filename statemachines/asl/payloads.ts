import type { JsonValue } from '../ledger/canonical.ts';
import type { SagaStatus } from '../rules/events.ts';

/** What the machine and its Lambdas say to each other: ids and one time, nothing of the saga itself. */

/** What names a drive. Every Task passes it on as one object, so no path in it can be missing. */
export interface DriveIds {
  readonly tenant: string;
  readonly sagaId: string;
  readonly epoch: number;
  /** Epoch milliseconds by which a step must be through; 0 or absent: none. `begin` and `assess` set it. */
  readonly softDeadlineAt?: number;
}

/** Input of an execution. */
export interface DriveInput {
  readonly drive: DriveIds;
}

export type LedgerOp = 'begin' | 'assess' | 'settle' | 'complete';

/** Payload of the ledger function. */
export interface LedgerCall extends DriveInput {
  readonly op: LedgerOp;
  /** Name of the saga definition. */
  readonly saga: string;
}

/** Payload of a tool's function. */
export interface ToolCall extends DriveInput {
  readonly saga: string;
  readonly step: string;
  readonly action: 'forward' | 'recover';
}

/** The drive with its soft deadline: what the states after `begin` pass on. */
export type BeginAnswer = Required<DriveIds>;

export const ROUTES = ['recover', 'parked', 'compensated', 'incident', 'completed'] as const;
export interface AssessAnswer {
  readonly route: (typeof ROUTES)[number];
  readonly state: SagaStatus;
  readonly drive: Required<DriveIds>;
}

export const OUTCOMES = ['compensated', 'parked', 'incident'] as const;
export interface SettleAnswer {
  readonly outcome: (typeof OUTCOMES)[number];
  readonly state: SagaStatus;
}

export interface CompleteAnswer {
  readonly state: 'completed';
}

/** Where the drive stands in the machine's state, from the execution's input to its end. */
export const DRIVE_PATH = '$.drive';
/** Output of an execution that parks: `{ state }`. */
export const ANSWER_PATH = '$.answer';

type Payload = Readonly<Record<string, JsonValue>>;

export function ledgerPayload(op: LedgerOp, saga: string): Payload {
  return { op, saga, 'drive.$': DRIVE_PATH };
}

export function toolPayload(saga: string, step: string, action: ToolCall['action']): Payload {
  return { saga, step, action, 'drive.$': DRIVE_PATH };
}
