import { describe, expect, it } from 'vitest';
import { thrown } from '../../../lambdas/runtime/thrown.ts';

const HERE = /^\w+ \(thrown\.test\.ts:\d+:\d+\)$/;

function caught(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

function failed(message: string): Error {
  return new Error(message);
}

function withStack(message: string, stack: string): Error {
  return Object.assign(new Error(message), { stack });
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
    ['a package on Windows', '    at parse (C:\\app\\node_modules\\pg\\index.js:9:1)'],
    ['Node', '    at node:internal/url:816:5'],
    ['nobody', '    at async Promise.all (index 0)'],
    ['nowhere', '    at new Promise (<anonymous>)'],
  ])('within %s is named with the next line of somebody’s own', (_whose, frame) => {
    const mine = '    at async Object.forward (file:///srv/app/tools.ts:41:12)';
    expect(thrown(withStack('x', `Error: x\n${frame}\n${mine}`))).toBe('Error (tools.ts:41:12)');
  });

  it.each([
    ['with a code', 'TypeError [ERR_X]: x\n    at file:///srv/tools.mjs:41:12', 'tools.mjs:41:12'],
    ['on Windows', 'Error: x\n    at go (C:\\Users\\ada\\tools.ts:41:12)', 'tools.ts:41:12'],
    ['of a page', 'Error: x\n    at go (/srv/[id].handler.js:41:12)', '[id].handler.js:41:12'],
  ])('%s has no folder of the machine', (_which, stack, place) => {
    expect(thrown(withStack('x', stack))).toBe(`Error (${place})`);
  });

  it.each([
    ['looks like a frame', 's3cret\n    at s3cret (/srv/s3cret.ts:1:1)'],
    ['is empty', ''],
    ['holds only a frame', '    at /srv/s3cret.ts:1:1'],
    ['is part of the name', 'rror'],
  ])('never brings a message that %s', (_what, message) => {
    expect(thrown(failed(message))).toMatch(HERE);
  });

  it.each([
    ['shortened', 'declined for\n    at s3cret (/srv/s3cret.ts:1:1)', 'declined'],
    ['emptied', 'declined for\n    at s3cret (/srv/s3cret.ts:1:1)', ''],
    ['replaced', 'declined', 'at s3cret.ts:1:1'],
    ['made no text', '7', 7],
  ])('has no line where its message was %s afterwards', (_how, before, after) => {
    const error = failed(before);
    expect(error.stack).toContain(before);
    expect(thrown(Object.assign(error, { message: after }))).toBe('Error');
  });

  it.each([
    ['a text', 'Error: x\n    at Ada Lovelace, 4111 1111 1111 1111:12:30'],
    ['an address', 'Error: x\n    at ada@example.com:10:30'],
    ['a query', 'Error: x\n    at file:///srv/tools.ts?token=s3cret:1:1'],
    ['code in an address', 'Error: x\n    at data:text/javascript,const k="s3cret":1:1'],
    ['a cause', 'Error: x\n    at node:fs:1:1\nCaused by: s3cret\n    at s3cret (/s3cret.ts:1:1)'],
    ['a line that is none', 'Error: x\nat Baker Street (/s3cret.ts:10:30)'],
    ['nothing', undefined],
    ['no text', 7],
  ])('has no line where its stack was set to %s', (_what, stack) => {
    expect(thrown(Object.assign(new Error('x'), { stack }))).toBe('Error');
  });

  it.each([
    ['a sentence', 'Ada Lovelace, Baker Street'],
    ['very long', 'E'.repeat(1_000_000)],
    ['half a character', '\ud800'],
    ['no text', { card: '4111' }],
    ['a symbol', Symbol('s3cret')],
  ])('has no name of its own that is %s', (_what, name) => {
    const error = Object.assign(new Error('x'), { stack: undefined });
    expect(thrown(Object.defineProperty(error, 'name', { value: name }))).toBe('Error');
  });

  it('does not throw, whatever it is', () => {
    const hostile = Object.defineProperty(new Error('x'), 'stack', {
      get: () => {
        throw new Error('s3cret');
      },
    });
    expect(thrown(hostile)).toBe('a thrown object');
    expect(thrown(Object.assign(new Error('x'), { message: null }))).toBe('Error');
    const revoked = Proxy.revocable(new Error('x'), {});
    revoked.revoke();
    expect(thrown(revoked.proxy)).toBe('a thrown object');
  });

  it.each([
    ['s3cret', 'a thrown string'],
    [undefined, 'a thrown undefined'],
    [null, 'a thrown object'],
  ])('and is no error is named by its kind (%s)', (value, words) => {
    expect(thrown(value)).toBe(words);
  });
});
