import { defineSaga, defineTool } from 'counterstep';
import { failureMatrix, MatrixBroken } from 'counterstep/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { document } from '../../examples/document/saga.ts';
import { order } from '../../examples/order/saga.ts';
import { refund, refundOf } from '../../examples/refund/saga.ts';
import { anySaga } from '../../scripts/simulate/any-saga.ts';
import { eager } from '../../scripts/simulate/eager.ts';
import { forgetful } from '../../scripts/simulate/forgetful.ts';

describe('the failure matrix', () => {
  it('is survived by the refund', async () => {
    const matrix = await failureMatrix(refund);
    expect(matrix.cells.length).toBeGreaterThan(400);
    expect(new Set(matrix.cells.map((cell) => cell.case)).size).toBe(matrix.cells.length);
    console.info(matrix.report());
  });

  it('is survived by the order', async () => {
    const matrix = await failureMatrix(order);
    expect(matrix.cells.length).toBeGreaterThan(600);
  });

  it('is survived by the document pipeline, failure by failure', async () => {
    const { cells } = await failureMatrix(document, { only: 'DD0' });
    expect(cells.filter((cell) => cell.group === 'undo').length).toBeGreaterThan(30);
  });

  it('is survived by a single step, and by a saga with a deadline', async () => {
    await failureMatrix(single, { only: 'undone' });
    await failureMatrix(single, { only: 'forward' });
  });

  it('is survived by a graph with waves, on an express machine too', async () => {
    for (const number of [2, 3]) await failureMatrix(anySaga(number), { only: 'lost' });
    await failureMatrix(refundOf('EXPRESS'), { only: 'start' });
  });

  it('is survived where every undo may begin at once', async () => {
    const { cells } = await failureMatrix(eager, { only: 'send' });
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
    for (const only of ['credit: answer_lost', 'undo of stock: lands_late']) {
      const { cells } = await failureMatrix(refund, { crossed: true, only });
      expect(cells.length).toBeGreaterThan(60);
    }
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
      'needs_review',
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
      finally: 'completed',
      standing: {},
      findings: ['4: print/forward took effect 2 times'],
    } as const;
    const matrix = { saga: 'printing', cells: [cell], broken: [cell], report: () => '' };
    const error = new MatrixBroken(matrix);
    expect(error.message).toContain('breaks in 1 of 1 cases');
    expect(error.message).toContain('4: print/forward took effect 2 times');
    expect(error.message).toContain('only: "print: silent"');
  });
});
