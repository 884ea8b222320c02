import type { JsonValue } from '../ledger/canonical.ts';

/** The part of the Amazon States Language (JSONPath) that generated machines use. */

export interface StateMachine {
  readonly Comment: string;
  readonly StartAt: string;
  readonly States: States;
}

export type States = Readonly<Record<string, State>>;
export type State = TaskState | ParallelState | PassState | ChoiceState | SucceedState | FailState;

/** Where a state leads: to another one, or to the end of its branch or execution. */
export type Onward = { readonly Next: string } | { readonly End: true };

export type TaskState = {
  readonly Type: 'Task';
  readonly Resource: string;
  readonly Parameters: {
    readonly FunctionName: string;
    readonly Payload: Readonly<Record<string, JsonValue>>;
  };
  readonly ResultSelector?: Readonly<Record<string, JsonValue>>;
  readonly ResultPath?: string | null;
  readonly TimeoutSeconds: number;
  readonly Retry: readonly Retrier[];
  readonly Catch: readonly Catcher[];
} & Onward;

export type ParallelState = {
  readonly Type: 'Parallel';
  readonly Branches: readonly Branch[];
  readonly ResultPath: null;
  readonly Catch: readonly Catcher[];
} & Onward;

export interface Branch {
  readonly StartAt: string;
  readonly States: States;
}

export type PassState = { readonly Type: 'Pass' } & Onward;

export interface ChoiceState {
  readonly Type: 'Choice';
  readonly Choices: readonly {
    readonly Variable: string;
    readonly StringEquals: string;
    readonly Next: string;
  }[];
  readonly Default: string;
}

export interface SucceedState {
  readonly Type: 'Succeed';
  readonly OutputPath: string;
}

export interface FailState {
  readonly Type: 'Fail';
  readonly Error: string;
  readonly Cause: string;
}

export interface Retrier {
  readonly ErrorEquals: readonly string[];
  readonly MaxAttempts: number;
  readonly IntervalSeconds?: number;
  readonly BackoffRate?: number;
  readonly MaxDelaySeconds?: number;
  readonly JitterStrategy?: 'FULL';
}

export interface Catcher {
  readonly ErrorEquals: readonly string[];
  readonly ResultPath: string;
  readonly Next: string;
}
