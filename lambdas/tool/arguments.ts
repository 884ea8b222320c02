import type { AnySaga, DefinedStep } from '../../statemachines/language/saga.ts';
import type { AnyTool } from '../../statemachines/language/tool.ts';
import type { Action, Stored } from '../../statemachines/rules/events.ts';
import type { ActionState, SagaState, StepState } from '../../statemachines/rules/state.ts';
import type { Stores } from '../ports/stores.ts';
import type { ToolRequest } from './request.ts';
import { ArgumentsRefused, buildArguments, loadArguments } from './values.ts';

/** Where the arguments of one step's calls come from. */
export interface ArgumentSources {
  readonly stores: Stores;
  readonly contract: AnyTool;
  readonly request: ToolRequest;
  readonly saga: AnySaga;
  readonly step: DefinedStep;
}

export interface Prepared {
  readonly value: unknown;
  /** As the first claim keeps them; absent where they stand in the ledger already. */
  readonly stored?: Stored;
}

/**
 * What a call is made with: built for the first forward call, and from then on as the ledger has it.
 * @throws ArgumentsRefused
 */
export async function callArguments(
  sources: ArgumentSources,
  state: SagaState,
  action: Action,
): Promise<Prepared> {
  const { stores, contract, request, saga } = sources;
  const step = state.steps.get(sources.step.name);
  if (action !== 'forward') {
    if (step === undefined)
      throw new ArgumentsRefused('terminal_hold', 'step_unknown', 'no such step');
    return undoArguments(sources, step, action);
  }
  const known = step?.forward.args;
  if (known !== undefined) {
    return {
      value: await loadArguments(stores, request, known, contract.input, sources.step.name),
    };
  }
  return buildArguments(stores, request, saga, sources.step, state);
}

/** Arguments of an attempt made before, for the question about it. @throws ArgumentsRefused */
export async function knownArguments(
  sources: ArgumentSources,
  step: StepState,
  current: ActionState,
  action: Action,
): Promise<unknown> {
  const { stores, contract, request } = sources;
  if (action === 'forward') {
    if (current.args === undefined) return undefined;
    return loadArguments(stores, request, current.args, contract.input, sources.step.name);
  }
  return (await undoArguments(sources, step, action)).value;
}

/** Stored with the commit, never recomputed (invariant 6). */
async function undoArguments(
  sources: ArgumentSources,
  step: StepState,
  action: Action,
): Promise<Prepared> {
  const { stores, contract, request } = sources;
  const { name } = sources.step;
  if (action === 'contain') {
    const { args, commit } = step.forward;
    const input =
      args === undefined
        ? undefined
        : await loadArguments(stores, request, args, contract.input, name);
    const output =
      commit?.result === null || commit?.result === undefined
        ? undefined
        : await loadArguments(stores, request, commit.result, undefined, name);
    return { value: { input, output } };
  }
  const undo = step.forward.commit?.undo;
  if (
    undo === null ||
    undo === undefined ||
    undo.kind === 'unavailable' ||
    undo.kind === 'skipped'
  ) {
    throw new ArgumentsRefused(
      'terminal_hold',
      'undo_unavailable',
      'the commit holds no arguments for its undo',
    );
  }
  return {
    value: await loadArguments(stores, request, undo, contract.compensate?.input, name),
  };
}
