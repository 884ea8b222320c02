import { DefinitionError, defineSagaFromSteps } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { spec, stepOf, toolOf, tools } from '../samples.ts';

function messageOf(build: () => unknown): string {
  try {
    build();
  } catch (error) {
    if (error instanceof DefinitionError) return error.message;
    throw error;
  }
  return 'none';
}

const named = {
  tool: (name: string) => messageOf(() => toolOf('read_only', name)),
  saga: (name: string) =>
    messageOf(() => defineSagaFromSteps({ ...spec, name }, [stepOf('look', tools.look)])),
  step: (name: string) => messageOf(() => defineSagaFromSteps(spec, [stepOf(name, tools.look)])),
};

describe('ac-14: illegal names are refused when the definition is built, each with its character', () => {
  const illegal: [name: string, character: string, position: number][] = [
    ['two words', ' ', 4],
    ['a/b', '/', 2],
    ['a:b', ':', 2],
    ['<a>', '<', 1],
    ['a"b', '\\"', 2],
    ["it's", "'", 3],
    ['go🚀', '🚀', 3],
    ['🚀', '🚀', 1],
    ['-a', '-', 1],
    ['über', 'ü', 1],
    ['a\n', '\\n', 2],
    ['a.b', '.', 2],
  ];
  for (const kind of ['tool', 'saga', 'step'] as const) {
    test.each(illegal)(`${kind} %j`, (name, character, position) => {
      const message = named[kind](name);
      expect(message).toContain(`has the illegal character "${character}" at position ${position}`);
      expect(message).toContain(kind);
    });
    test(`${kind} with the empty name`, () => {
      expect(named[kind]('')).toContain('is empty');
    });
    test.each(['a', '1st', 'Ab-9_z', 'constructor', 'toString'])(`${kind} %s is legal`, (name) => {
      expect(named[kind](name)).toBe('none');
    });
  }
});

test('names end where state names end; a step leaves room for the state of its recovery', () => {
  expect(named.tool('t'.repeat(80))).toBe('none');
  expect(named.tool('t'.repeat(81))).toContain('has 81 characters. Use at most 80');
  expect(named.step('s'.repeat(72))).toBe('none');
  expect(named.step('s'.repeat(73))).toContain(
    'Use at most 72: state names end at 80, and the state that recovers a step is called "recover." and its name',
  );
});

test.each([
  'begin',
  'assess',
  'route',
  'settle',
  'outcome',
  'complete',
  'Parked',
  'parked',
  'Completed',
  'Compensated',
  'Incident',
])('the step name %s is kept for a state of every machine', (name) => {
  expect(named.step(name)).toContain('is kept for a state that every machine has');
  expect(named.saga(name)).toBe('none');
});

test('a step may not be called like a field of the states language', () => {
  expect(named.step('Next')).toContain('is a field of the states language');
  expect(named.step('next')).toBe('none');
});

test('versions may hold dots', () => {
  const version = (text: string) =>
    messageOf(() => defineSagaFromSteps({ ...spec, version: text }, [stepOf('look', tools.look)]));
  expect(version('1.2.0-rc.1+5')).toBe('none');
  expect(version('v 1')).toContain('the version "v 1" has the illegal character " " at position 2');
});
