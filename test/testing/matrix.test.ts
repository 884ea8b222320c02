import { defineSaga, defineTool } from 'counterstep';
import { type FailureMatrix, failureMatrix, MatrixBroken } from 'counterstep/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { document } from '../../examples/document/saga.ts';
import { order } from '../../examples/order/saga.ts';
import { refund, refundOf } from '../../examples/refund/saga.ts';
import { dear, kept } from '../../scripts/mutants/sagas.ts';
import { anySaga } from '../../scripts/simulate/any-saga.ts';
import { eager } from '../../scripts/simulate/eager.ts';
import { forgetful } from '../../scripts/simulate/forgetful.ts';

/** What the simulated providers have to say for every undo of the document pipeline to have something to do. */
const outputs = {
  'extract-text': () => ({ language: 'en', words: ['invoice'] }),
};

/** Which of them never struck, and why. */
function missed({ notReached }: FailureMatrix): readonly string[] {
  return notReached.map((cell) => `${cell.case}: ${cell.notReached ?? ''}`);
}

describe('the failure matrix', () => {
  it('is survived by the refund, and reaches every case', async () => {
    const matrix = await failureMatrix(refund);
    expect(matrix.cells.length).toBeGreaterThan(500);
    expect(new Set(matrix.cells.map((cell) => cell.case)).size).toBe(matrix.cells.length);
    expect(missed(matrix)).toEqual([]);
    expect(matrix.report()).toContain(
      `${matrix.cells.length} of ${matrix.cells.length} cases survived, nothing broken`,
    );
  });

  it('is survived by the order, and reaches every case', async () => {
    const matrix = await failureMatrix(order);
    expect(matrix.cells.length).toBeGreaterThan(700);
    expect(missed(matrix)).toEqual([]);
  });

  it('is survived by the document pipeline, failure by failure, and reaches every case', async () => {
    const matrix = await failureMatrix(document, { only: 'DD0', outputs });
    expect(matrix.cells.filter((cell) => cell.group === 'undo').length).toBeGreaterThan(40);
    expect(missed(matrix)).toEqual([]);
  });

  it('tells what stood when a person was asked, and what the answer made of it', async () => {
    const matrix = await failureMatrix(order, { only: 'undo of courier: refused' });
    const stood = { inventory: 'stands', payment: 'stands', courier: 'stands' };
    const undone = { inventory: 'reversed', payment: 'reversed', courier: 'reversed' };
    expect(matrix.cells).toMatchObject([
      { reviews: ['recovery_failed'], standing: stood, finalStanding: undone },
    ]);
    expect(matrix.report()).toMatch(
      /, courier stands; then inventory reversed, payment reversed, courier reversed$/m,
    );
  });

  it('lists each time a person is asked', async () => {
    const matrix = await failureMatrix(dear, { only: 'undo of best: refused' });
    expect(matrix.cells).toMatchObject([{ reviews: ['cost_ceiling', 'recovery_failed'] }]);
    expect(matrix.report()).toContain(
      'needs_review (cost_ceiling, then recovery_failed), then compensated',
    );
  });

  it('says of an undo that has nothing to do that it was not reached', async () => {
    const matrix = await failureMatrix(document, { only: 'undo of DD08: s' });
    const why = 'its undo has nothing to do: the entry has no words, so nobody can find it';
    expect(missed(matrix)).toEqual([
      `undo of DD08: silent: ${why}`,
      `undo of DD08: silent for ever: ${why}`,
    ]);
    expect(matrix.report()).toMatch(/^undo of DD08 +silent +not reached +DD02 stands/m);
    expect(matrix.report()).toContain('0 of 2 cases survived, 2 not reached, nothing broken');
  });

  it('finds the way to the undo of a checkpoint, and says where there is none', async () => {
    const reached = await failureMatrix(kept, { only: 'undo of first: ' });
    expect(reached.cells.length).toBeGreaterThan(10);
    expect(missed(reached)).toEqual([]);
    const { cells } = await failureMatrix(hooked, { only: 'undo of ' });
    const ends = cells.filter(({ failure }) => failure === 'refused');
    expect(ends).toMatchObject([
      { step: 'send', end: 'needs_review', reason: 'recovery_failed', finally: 'incident' },
      { step: 'mark', notReached: 'it is behind the pivot, where nothing is undone' },
    ]);
    expect(ends[0]?.notReached).toBeUndefined();
  });

  it('says what a cancel comes to at each moment', async () => {
    const { cells } = await failureMatrix(refund, { only: 'cancelled' });
    const ends = Object.fromEntries(
      cells.map(({ case: name, end, standing }) => [
        name.slice('cancelled '.length),
        { end, standing },
      ]),
    );
    const undone = { stock: 'reversed', credit: 'reversed' };
    const done = { stock: 'stands', credit: 'stands', email: 'irreversible' };
    expect(ends).toMatchObject({
      'at its start': { end: 'compensated', standing: {} },
      'during credit, between two tries': { end: 'compensated', standing: { stock: 'reversed' } },
      'during credit, while its answer is pending': { end: 'compensated', standing: undone },
      'during credit, while a person is asked': { end: 'compensated' },
      'during email, between two tries': { end: 'compensated', standing: undone },
      'behind email': { end: 'completed', standing: done },
      'just before the end of forward': { end: 'completed', standing: done },
      'just after the end of forward': { end: 'completed', standing: done },
      'during the undo of stock': { end: 'compensated', standing: undone },
      'just after the end of undone': { end: 'compensated', standing: undone },
    });
  });

  it('plays each answer to a question about what is in doubt', async () => {
    const { cells } = await failureMatrix(refund, { only: 'credit: answer_lost, then asked: ' });
    const forward = cells.filter(({ case: name }) => !name.startsWith('undo'));
    expect(forward.map((cell) => [cell.failure.split(': ')[1], cell.end, cell.reason])).toEqual([
      ['unknown', 'completed', ''],
      ['pending', 'completed', ''],
      ['silent', 'completed', ''],
      ['fails', 'completed', ''],
      ['unknown for ever', 'needs_review', 'unknown_outcome'],
      ['pending for ever', 'needs_review', 'pending_too_long'],
      ['silent for ever', 'needs_review', 'unknown_outcome'],
      ['fails for ever', 'needs_review', 'unknown_outcome'],
      ['absent, too early', 'completed', ''],
    ]);
  });

  it('is survived by a single step, and by a saga with a deadline', async () => {
    await failureMatrix(single, { only: 'undone' });
    await failureMatrix(single, { only: 'forward' });
  });

  it('is survived by a graph with waves, on an express machine too', async () => {
    await failureMatrix(anySaga(2), { only: 'lost' });
    await failureMatrix(anySaga(3), { only: 'request_lost' });
    await failureMatrix(refundOf('EXPRESS'), { only: 'start' });
  });

  it('is survived where every undo may begin at once', async () => {
    await failureMatrix(eager, { only: 'send: ' });
    const { cells } = await failureMatrix(eager, { only: 'cancelled during send, while its' });
    const ends = cells.filter((cell) => cell.failure === 'cancelled while its answer is lost');
    expect(ends.map((cell) => cell.end)).toEqual(['completed']);
  });

  it('is survived where keys are soon forgotten', async () => {
    const { cells } = await failureMatrix(forgetful, { only: ' for ever' });
    const mute = cells.find((cell) => cell.case === 'mute: silent for ever');
    // Nobody may send it again under a forgotten key, and nobody can be asked.
    expect(mute).toMatchObject({ end: 'needs_review', reason: 'unknown_outcome' });
  });

  it('crosses a failure with every fault of the plane', async () => {
    const groups = ['crash', 'invocation', 'lease', 'start'];
    for (const only of ['credit: answer_lost: ', 'undo of stock: lands_late: crash']) {
      const { cells, notReached } = await failureMatrix(refund, { crossed: true, only });
      const struck = cells.filter((cell) => !notReached.includes(cell));
      expect(struck.length).toBeGreaterThan(30);
      expect(groups).toEqual(expect.arrayContaining(struck.map(({ group }) => group)));
      if (only.endsWith(': ')) {
        expect([...new Set(struck.map(({ group }) => group))].sort()).toEqual(groups);
      }
    }
  });

  it('crosses a failure with cancels, and with a second failure', async () => {
    const second = await failureMatrix(refund, {
      crossed: true,
      only: 'credit: answer_lost + undo of credit',
    });
    expect(second.cells.length).toBe(14);
    expect(missed(second)).toEqual([]);
    const again = await failureMatrix(refund, {
      crossed: true,
      only: 'undo of stock: request_lost + again: ',
    });
    expect(missed(again)).toEqual([]);
    expect(again.cells.map((cell) => [cell.failure.split(': ')[1], cell.end])).toEqual(
      expect.arrayContaining([
        ['answer_lost', 'compensated'],
        ['lands_late', 'compensated'],
        ['refused', 'needs_review'],
      ]),
    );
    const cancelled = await failureMatrix(refund, {
      crossed: true,
      only: 'undo of stock: request_lost + cancelled during the undo',
    });
    expect(missed(cancelled)).toEqual([]);
    expect(cancelled.cells.map((cell) => [cell.failure, cell.end])).toEqual(
      expect.arrayContaining([
        ['request_lost + cancelled during an undo', 'compensated'],
        ['request_lost + cancelled during an undo that failed', 'needs_review'],
      ]),
    );
  });

  it('tells where each failure ends, and what stood then', async () => {
    const { cells } = await failureMatrix(refund, { only: 'email: ' });
    const ends = Object.fromEntries(cells.map((cell) => [cell.failure, cell]));
    expect(ends.refused).toMatchObject({
      end: 'compensated',
      standing: { stock: 'reversed', credit: 'reversed' },
    });
    expect(ends.answer_lost).toMatchObject({
      end: 'needs_review',
      reason: 'unknown_outcome',
      finally: 'completed',
      standing: { stock: 'stands', credit: 'stands', email: 'in_doubt' },
    });
    expect(ends.deviates).toMatchObject({ end: 'incident', reason: 'pivot_committed' });
  });
});

/** One step that cannot be asked about, and time that is short. */
const single = defineSaga(
  { name: 'single', version: '1', input: z.object({ id: z.string() }), deadlineMs: 60_000 },
  (saga) =>
    saga.step(
      'only',
      defineTool({
        name: 'book-once',
        description: 'Books, and cannot be asked.',
        effect: 'reversible',
        input: z.object({ id: z.string() }),
        output: z.object({ ref: z.string() }),
        forward: { dedupe: 'none', timeoutMs: 2_000, settleMs: 1_000 },
        compensate: {
          input: z.object({ ref: z.string() }),
          from: ({ output }) => ({ ref: output.ref }),
          dedupe: 'key',
          timeoutMs: 2_000,
          settleMs: 1_000,
        },
      }),
      { input: ({ input }) => input },
    ),
);

const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 } as const;
const id = z.object({ id: z.string() });

/** A pivot that can be contained, and behind it a step with an undo that no failure leads to. */
const hooked = defineSaga({ name: 'hooked', version: '1', input: id }, (saga) =>
  saga
    .step(
      'send',
      defineTool({
        name: 'send-letter',
        description: 'Sends a letter; afterwards only a second one can follow.',
        effect: 'irreversible',
        input: id,
        output: id,
        forward: call,
        contain: call,
      }),
      { input: ({ input }) => input },
    )
    .step(
      'mark',
      defineTool({
        name: 'mark-sent',
        description: 'Makes the sent version the valid one.',
        effect: 'supersede',
        input: id,
        output: id,
        forward: call,
        compensate: { ...call, input: id, from: ({ output }) => output },
      }),
      { input: ({ input }) => input },
    ),
);

/** A definition whose contract promises more than its provider keeps. */
const dishonest = defineTool({
  name: 'print-ticket',
  description: 'Prints a ticket; cannot recognise repeats, whatever its contract says.',
  effect: 'reversible',
  input: z.object({ seat: z.string() }),
  output: z.object({ ticket: z.string().regex(/^T-\d+$/) }),
  forward: { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 },
  compensate: {
    input: z.object({ ticket: z.string() }),
    from: ({ output }) => ({ ticket: output.ticket }),
    dedupe: 'key',
    timeoutMs: 1_000,
    settleMs: 0,
  },
});
const printing = defineSaga(
  { name: 'printing', version: '1', input: z.object({ seat: z.string() }) },
  (saga) => saga.step('print', dishonest, { input: ({ input }) => ({ seat: input.seat }) }),
);

describe('what the matrix asks for', () => {
  it('says which output it cannot make, and takes it from the caller', async () => {
    await expect(failureMatrix(printing, { only: 'print: throttled' })).rejects.toThrow(
      "outputs: { 'print-ticket'",
    );
    const outputs = {
      'print-ticket': (_args: unknown, number: number) => ({ ticket: `T-${number}` }),
    };
    const { cells } = await failureMatrix(printing, { only: 'print: throttled', outputs });
    expect(cells.map((cell) => cell.end)).toEqual([
      'completed',
      'compensated',
      'compensated',
      'needs_review',
    ]);
  });

  it('names the cells that broke, and how to play one again', () => {
    const cell = {
      case: 'print: silent',
      group: 'failure',
      failure: 'silent',
      end: 'completed',
      reason: '',
      reviews: [],
      finally: 'completed',
      standing: {},
      finalStanding: {},
      findings: ['4: print/forward took effect 2 times'],
    } as const;
    const matrix = {
      saga: 'printing',
      cells: [cell],
      broken: [cell],
      notReached: [],
      report: () => '',
    };
    const error = new MatrixBroken(matrix);
    expect(error.message).toContain('breaks in 1 of 1 cases');
    expect(error.message).toContain('4: print/forward took effect 2 times');
    expect(error.message).toContain('only: "print: silent"');
  });
});
