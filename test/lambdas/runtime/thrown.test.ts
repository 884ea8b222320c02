import { describe, expect, it } from 'vitest';
import { thrown } from '../../../lambdas/runtime/thrown.ts';

function caught(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('what was thrown', () => {
  it('is named with the line of the code that threw it', () => {
    const broken = caught(() => (undefined as unknown as { readonly id: string }).id);
    expect(thrown(broken)).toMatch(/^TypeError \(thrown\.test\.ts:\d+:\d+\)$/);
  });

  it('by the platform itself is named with the line that called it', () => {
    const broken = caught(() => new URL('no address, and s3cret'));
    expect(thrown(broken)).toMatch(/^TypeError \(thrown\.test\.ts:\d+:\d+\)$/);
  });

  it.each([
    ['a package', '    at parse (/srv/app/node_modules/pg/lib/index.js:9:1)'],
    ['Node', '    at node:internal/url:816:5'],
    ['nobody', '    at async Promise.all (index 0)'],
  ])('within %s is named with the next line of somebody’s own', (_whose, frame) => {
    const error = new Error('x');
    error.stack = `Error: x\n${frame}\n    at async Object.forward (file:///srv/app/tools.ts:41:12)`;
    expect(thrown(error)).toBe('Error (tools.ts:41:12)');
  });

  it('on Windows has no folder of the machine either', () => {
    const error = new Error('x');
    error.stack = 'Error: x\n    at forward (C:\\Users\\ada\\app\\tools.ts:41:12)';
    expect(thrown(error)).toBe('Error (tools.ts:41:12)');
  });

  it.each([
    ['looks like a frame', 's3cret\n    at s3cret (/srv/s3cret.ts:1:1)'],
    ['is empty', ''],
    ['holds only a frame', '    at /srv/s3cret:1:1'],
  ])('never brings a message that %s', (_what, message) => {
    expect(thrown(caught(() => fail(message)))).toMatch(/^Error \(thrown\.test\.ts:\d+:\d+\)$/);
  });

  it('has no line where its message was changed afterwards, or its stack is gone', () => {
    const error = new Error('first');
    expect(error.stack).toContain('first');
    error.message = 'at s3cret.ts:1:1';
    expect(thrown(error)).toBe('Error');
    expect(thrown(Object.assign(new RangeError('x'), { stack: undefined }))).toBe('RangeError');
  });

  it.each([
    ['s3cret', 'a thrown string'],
    [undefined, 'a thrown undefined'],
    [null, 'a thrown object'],
  ])('and is no error is named by its kind (%s)', (value, words) => {
    expect(thrown(value)).toBe(words);
  });
});

function fail(message: string): never {
  throw new Error(message);
}
