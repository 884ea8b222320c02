import type { Drive } from '../lambdas/ports/drive-starter.ts';
import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';
import type { InvocationFault, Task } from './execution.ts';
import type { PolicyOptions } from './policies.ts';
import type { ProviderOptions } from './providers.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { StoreFault, StoreMoment } from './worker-stores.ts';

/** What may happen to the start of an execution. */
export const START_FAULTS = ['lost', 'fails', 'delayed', 'twice'] as const;
export type StartFault = (typeof START_FAULTS)[number];

/** Where faults come in. Whatever is left out does not happen. */
export interface PlaneFaults {
  store?(moment: StoreMoment): StoreFault | undefined;
  provider?(index: number, phase: 'before' | 'after'): StoreFault | undefined;
  invocation?(index: number, drive: Drive): InvocationFault | undefined;
  start?(index: number, drive: Drive): StartFault | undefined;
  /** True while no store answers. */
  storesOut?(): boolean;
  /** True while nobody sweeps. */
  sweepOut?(): boolean;
}

export interface PlaneOptions {
  readonly time: VirtualTime;
  /** What is deployed first. */
  readonly sagas: readonly AnySaga[];
  readonly providers: Omit<ProviderOptions, 'time' | 'moment'>;
  readonly faults?: PlaneFaults;
  /** Workers at once. Default 2. */
  readonly workers?: number;
  /** How far the next worker's clock is ahead of the true time, in milliseconds. Default 0. */
  skewMs?(): number;
  /** How long the next store call takes, in milliseconds. Default 0. */
  latencyMs?(): number;
  /** How long what is delayed waits, in milliseconds. Default 3 s. */
  delayMs?(): number;
  /** Which of `count` workers serves next. Default: in turn. */
  pick?(count: number): number;
  /** Whether the plane hears of an execution's end at once. Default: no, only the sweep finds it. */
  hearsOfEnds?(): boolean;
  /** Every invocation gets a worker of its own, so that `appended` can tell for which drive it wrote. */
  readonly oneEach?: boolean;
  /** Default: no tool has a policy. */
  readonly policies?: PolicyOptions;
  /** Told of every Task of a tool that runs, with what runs it once more. */
  task?(drive: Drive, task: Task, again: () => void): void;
  /** Told of every event that stands, and of the drive it was written for where that is known. */
  appended?(id: LedgerId, event: SagaEvent, by: Drive | undefined): void;
}
