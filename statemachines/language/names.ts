import type { Problem } from './problems.ts';

/** Step Functions' limit for the name of a state, a machine or an execution, in characters. */
export const MAX_NAME = 80;

/**
 * Put before a step's name where one step makes several states. The dot keeps them apart from
 * every step, since no step's name may hold one.
 */
export const STATE_PREFIXES = {
  /** The Task that recovers a step. */
  recover: 'recover.',
  /** Where a forward branch of a wave ends after a failure. */
  caught: 'caught.',
  /** Where a recovery branch of a wave ends after a failure. */
  left: 'left.',
  forwardWave: 'wave.',
  recoveryWave: 'recovery-wave.',
} as const;

/** The longest step name whose every state still has a legal name. */
export const MAX_STEP_NAME = MAX_NAME - STATE_PREFIXES.recover.length;

/** The states every machine has beside its steps. */
export const STATE_NAMES = {
  begin: 'begin',
  complete: 'complete',
  assess: 'assess',
  route: 'route',
  settle: 'settle',
  outcome: 'outcome',
  parked: 'Parked',
  completed: 'Completed',
  compensated: 'Compensated',
  incident: 'Incident',
} as const;

const RESERVED = new Set(Object.values(STATE_NAMES).map((name) => name.toLowerCase()));

/** A state with such a name is legal, but tools that search a definition by field take it for the field. */
const LANGUAGE_FIELDS = new Set([
  'States',
  'StartAt',
  'Next',
  'Default',
  'End',
  'Type',
  'Branches',
  'Iterator',
  'ItemProcessor',
  'Catch',
  'Retry',
  'Choices',
  'Parameters',
  'QueryLanguage',
]);

const LEGAL = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const LEGAL_VERSION = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;
const RULE = 'letters, digits, "-" and "_", beginning with a letter or a digit';

/** Checks the name of a tool or a saga. */
export function nameProblems(place: string, name: unknown): Problem[] {
  return check(place, 'name', name, LEGAL, RULE, MAX_NAME);
}

/** Checks a version text. */
export function versionProblems(place: string, version: unknown): Problem[] {
  return check(
    place,
    'version',
    version,
    LEGAL_VERSION,
    'letters, digits, ".", "+", "-" and "_", beginning with a letter or a digit',
    MAX_NAME,
  );
}

/** Checks the name of a step: shorter than others, since its recovery's state carries a prefix. */
export function stepNameProblems(place: string, name: unknown): Problem[] {
  const problems = check(place, 'step name', name, LEGAL, RULE, MAX_STEP_NAME);
  if (typeof name === 'string' && RESERVED.has(name.toLowerCase())) {
    problems.push({
      place,
      problem: `the step name "${name}" is kept for a state that every machine has`,
      remedy: `Choose another name than ${Object.values(STATE_NAMES).join(', ')}`,
    });
  }
  if (typeof name === 'string' && LANGUAGE_FIELDS.has(name)) {
    problems.push({
      place,
      problem: `the step name "${name}" is a field of the states language`,
      remedy: 'Choose another name; its lower-case spelling will do',
    });
  }
  return problems;
}

function check(
  place: string,
  what: string,
  name: unknown,
  legal: RegExp,
  rule: string,
  longest: number,
): Problem[] {
  if (typeof name !== 'string' || name === '') {
    return [
      {
        place,
        problem: `the ${what} is ${name === '' ? 'empty' : 'not a text'}`,
        remedy: `Use ${rule}`,
      },
    ];
  }
  const problems: Problem[] = [];
  if (name.length > longest) {
    problems.push({
      place,
      problem: `the ${what} "${name}" has ${name.length} characters`,
      remedy:
        longest === MAX_NAME
          ? `Use at most ${longest}`
          : `Use at most ${longest}: state names end at ${MAX_NAME}, and the state that recovers a step is called "${STATE_PREFIXES.recover}" and its name`,
    });
  }
  if (!legal.test(name)) {
    const { character, position } = firstIllegal(name, legal);
    problems.push({
      place,
      problem: `the ${what} "${name}" has the illegal character ${JSON.stringify(character)} at position ${position}`,
      remedy: `Use ${rule}`,
    });
  }
  return problems;
}

/** Position counted in characters from 1. */
function firstIllegal(name: string, legal: RegExp): { character: string; position: number } {
  let position = 0;
  let before = '';
  for (const character of name) {
    position += 1;
    before += character;
    if (!legal.test(before)) return { character, position };
  }
  throw new Error(`"${name}" is legal; check it before asking for its illegal character`);
}
