import { isDeepStrictEqual } from 'node:util';
import { safeParse } from 'zod/v4/core';
import type { AnySaga, DefinedStep } from '../../statemachines/language/saga.ts';
import type { Schema } from '../../statemachines/language/schema.ts';
import { sensitiveValues } from '../../statemachines/language/sensitive.ts';
import { isSkip } from '../../statemachines/language/skip.ts';
import type { AnyTool } from '../../statemachines/language/tool.ts';
import { IJsonError } from '../../statemachines/ledger/ijson.ts';
import { redactText } from '../../statemachines/ledger/redact.ts';
import type { ExternalIds, StepCommitted, Stored } from '../../statemachines/rules/events.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import { StoreUnavailable } from '../ports/ledger-store.ts';
import { PayloadTooLarge } from '../ports/payload-store.ts';
import type { Stores } from '../ports/stores.ts';
import { thrown } from '../runtime/thrown.ts';
import { fetchStored, keep, keepWhole, PayloadGone } from '../runtime/values.ts';
import { keptIds } from './kept.ts';

/** Arguments that cannot be had: a terminal fact, or a person's matter where the data is gone. */
export class ArgumentsRefused extends Error {
  override readonly name = 'Counterstep.ArgumentsRefused';
  readonly failure: 'terminal_compensate' | 'terminal_hold';
  readonly code: string;
  constructor(failure: 'terminal_compensate' | 'terminal_hold', code: string, message: string) {
    super(message);
    this.failure = failure;
    this.code = code;
  }
}

/**
 * Builds the forward call's arguments from the saga's input and the results before it.
 * @throws ArgumentsRefused @throws StoreUnavailable
 */
export async function buildArguments(
  stores: Stores,
  id: LedgerId,
  saga: AnySaga,
  step: DefinedStep,
  state: SagaState,
): Promise<{ readonly value: unknown; readonly stored: Stored }> {
  try {
    const input = checked(
      saga.input,
      await fetchStored(stores, id, state.start.input),
      'the input',
    );
    const results: Record<string, unknown> = {};
    for (const name of step.ancestors) {
      const result = state.steps.get(name)?.forward.commit?.result;
      const tool = saga.steps.find((candidate) => candidate.name === name)?.tool;
      if (result === null || result === undefined || tool === undefined) continue;
      results[name] = checked(
        tool.output,
        await fetchStored(stores, id, result),
        `the result of "${name}"`,
      );
    }
    const given = step.input({ input, results });
    const value = checked(step.tool.input, given, `the arguments of "${step.name}"`);
    const kept = storable(step.tool.input, given, value);
    return { value, stored: await keepWhole(stores, id, kept, step.tool.input) };
  } catch (error) {
    throw asRefusal(error, step.name);
  }
}

/** @throws ArgumentsRefused @throws StoreUnavailable */
export async function loadArguments(
  stores: Stores,
  id: LedgerId,
  stored: Stored,
  schema: Schema | undefined,
  step: string,
): Promise<unknown> {
  try {
    const value = await fetchStored(stores, id, stored);
    return schema === undefined ? value : checked(schema, value, `the arguments of "${step}"`);
  } catch (error) {
    throw asRefusal(error, step);
  }
}

function asRefusal(error: unknown, step: string): unknown {
  if (error instanceof StoreUnavailable || error instanceof ArgumentsRefused) return error;
  if (error instanceof PayloadGone) {
    return new ArgumentsRefused('terminal_hold', 'payload_gone', error.message);
  }
  if (error instanceof PayloadTooLarge) {
    return new ArgumentsRefused('terminal_compensate', 'arguments_too_large', error.message);
  }
  if (error instanceof IJsonError) {
    return new ArgumentsRefused('terminal_compensate', 'arguments_not_json', error.message);
  }
  return new ArgumentsRefused(
    'terminal_compensate',
    'mapping_failed',
    `the input mapping of "${step}" failed with ${thrown(error)}: it must handle every result its predecessors may give`,
  );
}

/** Names the places that do not fit, never the values. @throws ArgumentsRefused */
export function checked(schema: Schema, value: unknown, what: string): unknown {
  const parsed = safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || '(root)'}: ${issue.code}`,
  );
  throw new ArgumentsRefused(
    'terminal_compensate',
    'schema_deviation',
    `${what} does not fit its schema (${places.slice(0, 5).join('; ')})`,
  );
}

/**
 * The checked value where checking it again gives the same (so members the schema does not know are
 * not kept); else the value as given, since a schema that transforms must meet it again untransformed.
 */
export function storable(schema: Schema, given: unknown, value: unknown): unknown {
  const again = safeParse(schema, value);
  return again.success && isDeepStrictEqual(again.data, value) && isPlain(value) ? value : given;
}

/** Dates, maps and the like do not come back from JSON as what they were. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    return false;
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isPlain);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every(isPlain);
}

export interface FoundValues
  extends Pick<StepCommitted, 'result' | 'undo' | 'externalIds' | 'defect'> {
  /** Why its ids are missing: for the log, not for the ledger. */
  readonly idsFlaw?: string;
}

/**
 * What is recorded of a commit: the result, the compensation's arguments (invariant 6), the external
 * ids, and the defect if the answer is unusable. Nothing here may lose the commit itself.
 * @throws StoreUnavailable
 */
export async function commitValues(
  stores: Stores,
  id: LedgerId,
  tool: AnyTool,
  args: unknown,
  output: unknown,
  given: ExternalIds | undefined,
): Promise<FoundValues> {
  const read = readOutput(tool, output);
  const kept = await keepResult(stores, id, tool, read.stored);
  const defect = read.defect ?? kept.defect;
  const told = given === undefined ? externalIds(tool, args, read.value) : { ids: given };
  return {
    result: kept.result,
    undo: await undoArguments(stores, id, tool, args, read.value),
    externalIds: keptIds(told.ids),
    ...(defect === undefined ? {} : { defect }),
    ...(told.flaw === undefined ? {} : { idsFlaw: told.flaw }),
  };
}

/** The answer as its schema reads it. A schema that throws makes it unusable, as one that refuses it. */
function readOutput(
  tool: AnyTool,
  output: unknown,
): {
  readonly value: unknown;
  readonly stored: unknown;
  readonly defect?: StepCommitted['defect'];
} {
  const unread = { value: output, stored: output };
  const code = 'output_deviates';
  try {
    const parsed = safeParse(tool.output, output);
    if (!parsed.success) {
      return { ...unread, defect: { code, message: deviation(parsed.error.issues) } };
    }
    return { value: parsed.data, stored: storable(tool.output, output, parsed.data) };
  } catch (error) {
    const message = `the output schema itself failed with ${thrown(error)}`;
    return { ...unread, defect: { code, message } };
  }
}

async function keepResult(
  stores: Stores,
  id: LedgerId,
  tool: AnyTool,
  value: unknown,
): Promise<{ readonly result: Stored | null; readonly defect?: StepCommitted['defect'] }> {
  try {
    const result = await keep(stores, id, value === undefined ? null : value, tool.output);
    if (result.kind !== 'dropped') return { result };
    const message = `a result of ${result.bytes} bytes is too large to keep: return a reference to it`;
    return { result, defect: { code: 'result_too_large', message } };
  } catch (error) {
    if (!(error instanceof IJsonError)) throw error;
    return { result: null, defect: { code: 'result_not_json', message: error.message } };
  }
}

async function undoArguments(
  stores: Stores,
  id: LedgerId,
  tool: AnyTool,
  input: unknown,
  output: unknown,
): Promise<StepCommitted['undo']> {
  const { compensate } = tool;
  if (compensate === undefined) return null;
  try {
    const given = compensate.from({ input, output });
    if (isSkip(given)) {
      const secrets = [
        ...sensitiveValues(tool.input, input),
        ...sensitiveValues(tool.output, output),
      ];
      return { kind: 'skipped', why: redactText(String(given.why), { secrets, maxLength: 200 }) };
    }
    const value = checked(compensate.input, given, "the undo's arguments");
    return await keepWhole(stores, id, storable(compensate.input, given, value), compensate.input);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    const known =
      error instanceof ArgumentsRefused ||
      error instanceof PayloadTooLarge ||
      error instanceof IJsonError;
    const why = known ? error.message : `building them failed with ${thrown(error)}`;
    return { kind: 'unavailable', why };
  }
}

function externalIds(
  tool: AnyTool,
  input: unknown,
  output: unknown,
): { readonly ids: ExternalIds; readonly flaw?: string } {
  try {
    return { ids: tool.externalIds?.({ input, output }) ?? {} };
  } catch (error) {
    // An answer that deviates may lack what the ids are read from: the commit counts without them.
    return { ids: {}, flaw: `reading them failed with ${thrown(error)}` };
  }
}

function deviation(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly code: string }[],
): string {
  const places = issues.map(
    (issue) => `${issue.path.map(String).join('.') || '(root)'}: ${issue.code}`,
  );
  return `the answer does not fit the output schema (${places.slice(0, 5).join('; ')})`;
}
