import { createRequire } from 'node:module';
import { MAX_NAME } from '../language/names.ts';

/** Verdict on a state machine definition. Each problem says where it is. */
export type AslVerdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

/**
 * Checks any definition in the Amazon States Language before it is deployed: its fields and paths
 * (by `asl-validator`), and, at every nesting level, that each target exists there, that each state
 * can be reached, and that names are unique and short enough. The definition is not changed.
 */
export function validateAsl(definition: object): AslVerdict {
  const problems = [...levelProblems(definition, '$', new Map()), ...fieldProblems(definition)];
  return problems.length === 0 ? { kind: 'valid' } : { kind: 'invalid', problems };
}

/** The members read here; any other may stand beside them. */
type Fields = Readonly<
  Partial<
    Record<
      | 'StartAt'
      | 'States'
      | 'Next'
      | 'Default'
      | 'Catch'
      | 'Choices'
      | 'Branches'
      | 'ItemProcessor'
      | 'Iterator',
      unknown
    >
  >
>;

function levelProblems(level: object, place: string, seen: Map<string, string>): string[] {
  const { StartAt: start, States: found } = level as Fields;
  if (typeof start !== 'string' || !isFields(found)) {
    return [`${place} has no StartAt or no States: add both`];
  }
  const states = new Map(Object.entries(found));
  const problems: string[] = [];
  const reached = new Set<string>();
  const open = [start];
  for (const [name, state] of states) {
    const here = `${place}.States["${name}"]`;
    const earlier = seen.get(name);
    if (earlier !== undefined) {
      problems.push(
        `${here} has the name of ${earlier}: rename one, names are unique in a machine`,
      );
    }
    seen.set(name, here);
    if (name.length > MAX_NAME) {
      problems.push(`${here} has a name of ${name.length} characters: use at most ${MAX_NAME}`);
    }
    if (!isFields(state)) {
      problems.push(`${here} is not a state: make it an object with a Type`);
      continue;
    }
    for (const target of targetsOf(state)) {
      if (!states.has(target)) {
        problems.push(`${here} leads to "${target}", which is not a state of its level`);
      }
    }
    for (const [index, inner] of levelsIn(state).entries()) {
      problems.push(...levelProblems(inner, `${here}[${index}]`, seen));
    }
  }
  if (!states.has(start))
    problems.push(`${place} starts at "${start}", which is not a state of its level`);

  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const state = states.get(name);
    if (reached.has(name) || !isFields(state)) continue;
    reached.add(name);
    open.push(...targetsOf(state));
  }
  for (const name of states.keys()) {
    if (!reached.has(name)) {
      problems.push(`${place}.States["${name}"] cannot be reached: lead to it or remove it`);
    }
  }
  return problems;
}

/** Every state a state can lead to, on success, by choice or by error. */
function targetsOf(state: Fields): string[] {
  const found: unknown[] = [state.Next, state.Default];
  for (const list of [state.Catch, state.Choices]) {
    if (!Array.isArray(list)) continue;
    for (const each of list as unknown[]) if (isFields(each)) found.push(each.Next);
  }
  return found.filter((target) => typeof target === 'string');
}

function levelsIn(state: Fields): Fields[] {
  const { Branches: branches, ItemProcessor: processor, Iterator: iterator } = state;
  const inner: unknown[] = [...(Array.isArray(branches) ? branches : []), processor, iterator];
  return inner.filter(isFields);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Validator = (definition: unknown) => {
  readonly errors: readonly { readonly Message?: string; readonly message?: string }[];
};

/** Loaded on the first call only: it brings three megabytes that no Lambda needs. */
const load = createRequire(import.meta.url);

function fieldProblems(definition: object): string[] {
  const validate = load('asl-validator') as Validator;
  // It writes defaults into what it checks.
  const verdict = validate(structuredClone(definition));
  return verdict.errors.map((error) => error.Message ?? error.message ?? JSON.stringify(error));
}
