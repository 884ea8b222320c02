import type { JsonValue } from '../ledger/canonical.ts';
import type { SagaStatus } from '../rules/events.ts';

/** What the machine and its Lambdas say to each other: ids and one time, nothing of the saga itself. */

/** Input of an execution. */
export interface DriveInput {
  readonly tenant: string;
  readonly sagaId: string;
  readonly epoch: number;
}

export type LedgerOp = 'begin' | 'assess' | 'settle' | 'complete';

/** Payload of the ledger function. */
export interface LedgerCall extends DriveInput {
  readonly op: LedgerOp;
  /** Name of the saga definition. */
  readonly saga: string;
  /** Name of the execution. */
  readonly execution: string;
}

/** Payload of a tool's function. */
export interface ToolCall extends DriveInput {
  readonly saga: string;
  readonly step: string;
  readonly action: 'forward' | 'recover';
  /** Epoch milliseconds by which the step must be through, or 0 for none. */
  readonly softDeadlineAt: number;
}

export interface BeginAnswer {
  /** Epoch milliseconds, or 0 for none. */
  readonly softDeadlineAt: number;
}

export const ROUTES = ['recover', 'parked', 'compensated', 'incident', 'completed'] as const;
export interface AssessAnswer {
  readonly route: (typeof ROUTES)[number];
  readonly state: SagaStatus;
  readonly softDeadlineAt: number;
}

export const OUTCOMES = ['compensated', 'parked', 'incident'] as const;
export interface SettleAnswer {
  readonly outcome: (typeof OUTCOMES)[number];
  readonly state: SagaStatus;
}

export interface CompleteAnswer {
  readonly state: 'completed';
}

/**
 * Where `begin`, `assess` and `settle` leave their answer. `assess` writes the same path as
 * `begin`, so recovery finds the soft deadline even where `begin` failed.
 */
export const DRIVE_PATH = '$.drive';
/** Output of an execution that parks: `{ state }`. */
export const ANSWER_PATH = `${DRIVE_PATH}.answer`;

const DRIVE_IDS = {
  'tenant.$': '$.tenant',
  'sagaId.$': '$.sagaId',
  'epoch.$': '$.epoch',
} as const;

type Payload = Readonly<Record<string, JsonValue>>;

export function ledgerPayload(op: LedgerOp, saga: string): Payload {
  return { op, saga, ...DRIVE_IDS, 'execution.$': '$$.Execution.Name' };
}

export function toolPayload(saga: string, step: string, action: ToolCall['action']): Payload {
  return {
    saga,
    step,
    action,
    ...DRIVE_IDS,
    'softDeadlineAt.$': `${DRIVE_PATH}.softDeadlineAt`,
  };
}
