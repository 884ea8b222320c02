import { type AnySaga, defineSagaFromSteps, defineTool } from 'counterstep';
import { failureMatrix, NoSuchCase } from 'counterstep/testing';
import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';

/** What a matrix says of a saga that is not ready for it. */
const value = z.object({ id: z.string() });
const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 } as const;

function sagaOf(
  from: (facts: { readonly output: { readonly id: string } }) => { readonly id: string },
  input: () => unknown = () => ({ id: 'x' }),
  settleMs = 0,
): AnySaga {
  const forward = { ...call, settleMs };
  const book = defineTool({
    name: 'book',
    description: 'Books.',
    effect: 'reversible',
    input: value,
    output: value,
    forward,
    compensate: { ...call, input: value, from },
  });
  return defineSagaFromSteps({ name: 'trip', version: '1', input: value }, [
    { name: 'out', tool: book, input },
    { name: 'back', tool: book, input: () => ({ id: 'y' }) },
  ]);
}

describe('a matrix', () => {
  it('is refused to a saga whose undo cannot be made', async () => {
    const broken = sagaOf(() => {
      throw new TypeError('no such member');
    });
    await expect(failureMatrix(broken)).rejects.toThrow(
      /^the undo of "out" cannot be made .* mend `compensate\.from`/,
    );
    const misfit = sagaOf(() => ({ id: 7 }) as never);
    await expect(failureMatrix(misfit, { only: 'undo of back' })).rejects.toThrow(
      'the undo of "out" cannot be made',
    );
  });

  it('names ids that cannot be read, and the line', async () => {
    const forward = { ...call, dedupe: 'none' } as const;
    const send = defineTool({
      name: 'send',
      description: 'Sends.',
      effect: 'irreversible',
      input: value,
      output: value,
      externalIds: ({ output }) => ({ id: (output as unknown as { a: { b: string } }).a.b }),
      forward,
    });
    const saga = defineSagaFromSteps({ name: 'post', version: '1', input: value }, [
      { name: 'only', tool: send, input: () => ({ id: 'x' }) },
    ]);
    await expect(failureMatrix(saga)).rejects.toThrow(
      /step "only" fails, no_external_ids \(externalIds of "send" failed with TypeError \(matrix-first\.test\.ts:\d+:\d+\)\)/,
    );
  });

  it('says which step keeps the saga from its end where nothing fails', async () => {
    const never = sagaOf(
      ({ output }) => output,
      () => ({ id: 7 }),
    );
    await expect(failureMatrix(never)).rejects.toThrow(
      /^saga "trip" ends as compensated where nothing fails: step "out" fails, schema_deviation/,
    );
  });

  it('refuses an input that the saga would refuse', async () => {
    const sound = sagaOf(({ output }) => output);
    await expect(failureMatrix(sound, { input: { id: 7 } })).rejects.toThrow(
      /^the input does not fit saga "trip": \/id: /,
    );
  });

  it('is not empty without a word', async () => {
    const sound = sagaOf(({ output }) => output);
    const asked = failureMatrix(sound, { only: 'out: thr0ttled' });
    await expect(asked).rejects.toThrow(NoSuchCase);
    await expect(asked).rejects.toThrow('"out: throttled"');
  });

  it('waits as long as a call may take to land', async () => {
    const slow = sagaOf(
      ({ output }) => output,
      () => ({ id: 'x' }),
      30 * 86_400_000,
    );
    for (const only of ['silent', 'pending_for_ever', 'lands_late'])
      expect((await failureMatrix(slow, { only: `out: ${only}` })).notReached).toEqual([]);
  });
});
