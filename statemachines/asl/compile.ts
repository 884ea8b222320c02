import { STATE_NAMES, STATE_PREFIXES } from '../language/names.ts';
import type { SagaPlan, StepPlan } from '../plan/plan.ts';
import { assess, route } from './assess.ts';
import { begin } from './begin.ts';
import { complete } from './complete.ts';
import { COMPENSATED_END, COMPLETED, INCIDENT_END, PARKED } from './ends.ts';
import { recover } from './recover.ts';
import { outcome, settle } from './settle.ts';
import { step } from './step.ts';
import type { Functions, MachineContext } from './task.ts';
import type { Onward, State, StateMachine, TaskState } from './types.ts';
import { type Lane, TO_END, wave } from './wave.ts';

export interface CompileOptions {
  readonly functions: Functions;
}

/**
 * The state machine of a saga: begin, the steps, complete; beside them the one error route.
 *
 * The answer is plain JSON. It depends on the plan and the function names only, so the same
 * definition always gives the same machine.
 */
export function compileSaga(
  saga: SagaPlan | { readonly plan: SagaPlan },
  options: CompileOptions,
): StateMachine {
  const plan = 'plan' in saga ? saga.plan : saga;
  const context: MachineContext = { saga: plan.name, functions: options.functions };
  const forward = chain(plan, plan.forwardWaves, forwardKind(context), STATE_NAMES.complete);
  const recovery = chain(plan, plan.recoveryWaves, recoveryKind(context), STATE_NAMES.settle);
  return {
    Comment: `Saga ${plan.name}, version ${plan.version}, plan ${plan.digest}`,
    StartAt: STATE_NAMES.begin,
    States: {
      [STATE_NAMES.begin]: begin(context, forward.first),
      ...forward.states,
      [STATE_NAMES.complete]: complete(context),
      [STATE_NAMES.assess]: assess(context),
      [STATE_NAMES.route]: route(recovery.first),
      ...recovery.states,
      [STATE_NAMES.settle]: settle(context),
      [STATE_NAMES.outcome]: outcome(),
      [STATE_NAMES.parked]: PARKED,
      [STATE_NAMES.completed]: COMPLETED,
      [STATE_NAMES.compensated]: COMPENSATED_END,
      [STATE_NAMES.incident]: INCIDENT_END,
    },
  };
}

/** In what the forward chain and the recovery chain differ. */
interface ChainKind {
  stateName(step: string): string;
  failedName(step: string): string;
  readonly wavePrefix: string;
  task(step: StepPlan, onError: string, onward: Onward): TaskState;
  /** Where an error of a state leads that is followed by `next`. */
  onError(next: string): string;
}

function forwardKind(context: MachineContext): ChainKind {
  return {
    stateName: (name) => name,
    failedName: (name) => `${STATE_PREFIXES.caught}${name}`,
    wavePrefix: STATE_PREFIXES.forwardWave,
    task: (plan, onError, onward) => step(context, plan, onError, onward),
    onError: () => STATE_NAMES.assess,
  };
}

function recoveryKind(context: MachineContext): ChainKind {
  return {
    stateName: recoverStateName,
    failedName: (name) => `${STATE_PREFIXES.left}${name}`,
    wavePrefix: STATE_PREFIXES.recoveryWave,
    task: (plan, onError, onward) => recover(context, plan, onError, onward),
    onError: (next) => next,
  };
}

/** The state that recovers a step. (The state of its forward call has the step's own name.) */
export function recoverStateName(step: string): string {
  return `${STATE_PREFIXES.recover}${step}`;
}

/** One state a wave: a Task where it holds one step, else a Parallel. Waves are numbered from 1. */
function chain(
  plan: SagaPlan,
  waves: SagaPlan['forwardWaves'],
  kind: ChainKind,
  then: string,
): { readonly first: string; readonly states: Readonly<Record<string, State>> } {
  const steps = new Map(plan.steps.map((each) => [each.name, each]));
  const stepNamed = (name: string): StepPlan => {
    const found = steps.get(name);
    if (found === undefined) {
      throw new Error(
        `the plan of saga "${plan.name}" has a wave with the unknown step "${name}"; build plans with defineSaga`,
      );
    }
    return found;
  };
  const names = waves.map((members, index) =>
    members.length === 1 && members[0] !== undefined
      ? kind.stateName(members[0])
      : `${kind.wavePrefix}${index + 1}`,
  );
  const states: Record<string, State> = {};
  for (const [index, members] of waves.entries()) {
    const next = names[index + 1] ?? then;
    const onError = kind.onError(next);
    const lanes = members.map((member): Lane => {
      const failed = kind.failedName(member);
      const task = kind.task(stepNamed(member), failed, TO_END);
      return { name: kind.stateName(member), task, failed };
    });
    const [only, ...others] = members;
    states[names[index] as string] =
      only !== undefined && others.length === 0
        ? kind.task(stepNamed(only), onError, { Next: next })
        : wave(lanes, onError, next);
  }
  return { first: names[0] ?? then, states };
}
