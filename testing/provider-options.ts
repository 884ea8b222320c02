import type { AnyTool } from '../statemachines/language/tool.ts';
import type { Action, Cost } from '../statemachines/rules/events.ts';
import type { Mishap, QuestionMishap } from './mishaps.ts';
import type { VirtualProcess, VirtualTime } from './virtual-time.ts';

/** One call as whoever plans mishaps sees it. */
export interface ProviderCall {
  readonly tool: AnyTool;
  readonly tenant: string;
  readonly sagaId: string;
  readonly step: string;
  readonly action: Action;
  /** Counts the calls of this step and action, from 1; questions are counted for themselves. */
  readonly nth: number;
}

export interface ProviderOptions {
  readonly time: VirtualTime;
  /** What a tool answers, by its name, in place of an example made from its output schema. */
  readonly outputs?: Readonly<Record<string, (args: unknown, number: number) => unknown>>;
  mishap?(call: ProviderCall): Mishap | undefined;
  questionMishap?(call: ProviderCall): QuestionMishap | undefined;
  /** What a call costs in fact, where its contract has an estimate; nothing: it is not told. Default: the estimate. */
  charge?(call: Omit<ProviderCall, 'nth'>, estimate: Cost): Cost | undefined;
  /** How long a call takes, in milliseconds. Default 0. */
  latencyMs?(): number;
  /** True while the tool's provider cannot be reached. */
  isOut?(tool: string): boolean;
  /** Stands between the caller and the provider; may stop the caller for good. */
  moment?(phase: 'before' | 'after', worker: VirtualProcess): void | Promise<void>;
}
