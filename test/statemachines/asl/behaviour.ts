import { type AnySaga, NEVER_RETRIED, NOT_READY, TERMINAL, WAITING } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { diamond, line, reading } from '../samples.ts';
import {
  type Answer,
  compiled,
  DRIVE,
  named,
  type RunMachine,
  throwing,
  timingOut,
} from './machine.ts';

/**
 * What generated machines do, whichever interpreter runs them: in this process and on moto the very
 * same assertions hold.
 */
export function behaviourOfLine(run: RunMachine): void {
  const machine = compiled(line);
  describe('the happy path', () => {
    test('is N + 2 Tasks and no other state, and ends on the last Task', async () => {
      const { entered, tried, end } = await run(machine);
      expect(tried).toEqual(['begin', 'look', 'hold', 'charge', 'send', 'complete']);
      expect(entered).toEqual(tried);
      expect(end).toEqual({ kind: 'succeeded', output: { state: 'completed' } });
    });
    test('payloads are ids and the soft deadline, to the function of each tool', async () => {
      const drive = { ...DRIVE, softDeadlineAt: 1234 };
      const { calls } = await run(machine, { begin: () => drive });
      expect(calls[0]).toEqual({
        state: 'begin',
        functionName: 'ledger',
        payload: { saga: 'line', op: 'begin', drive: DRIVE },
      });
      expect(calls[2]).toEqual({
        state: 'hold',
        functionName: 'tool-hold-stock',
        payload: { saga: 'line', step: 'hold', action: 'forward', drive },
      });
      expect(calls.at(-1)?.payload).toEqual({ saga: 'line', op: 'complete', drive });
    });
  });

  describe('recovery', () => {
    const recovery = ['assess', 'recover.send', 'recover.charge', 'recover.hold', 'settle'];

    test('a failing step leads to assess, then back in order, then to Compensated', async () => {
      const { tried, entered, end } = await run(machine, { charge: throwing(TERMINAL) });
      expect(tried).toEqual(['begin', 'look', 'hold', 'charge', ...recovery]);
      expect(entered.slice(-2)).toEqual(['outcome', 'Compensated']);
      expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
    });
    test('ac-02: the ids reach every recovery, also behind one that failed', async () => {
      const { calls, tried, end } = await run(machine, {
        begin: throwing(TERMINAL),
        'recover.charge': throwing('Error'),
      });
      expect(tried.filter((state) => state === 'recover.charge')).toHaveLength(4);
      expect(new Set(tried)).toEqual(new Set(['begin', ...recovery]));
      expect(calls.find((call) => call.state === 'recover.hold')?.payload).toEqual({
        saga: 'line',
        step: 'hold',
        action: 'recover',
        drive: { ...DRIVE, softDeadlineAt: 99 },
      });
      expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
    });
    test('an incident fails by that name, whether assess or settle finds it', async () => {
      const bySettle = await run(machine, {
        send: throwing('Error'),
        settle: () => ({ outcome: 'incident', state: 'incident' }),
      });
      expect(bySettle.end).toEqual({ kind: 'failed', error: 'Incident' });
      const byAssess = await run(machine, {
        send: throwing('Error'),
        assess: () => ({ route: 'incident', state: 'incident', drive: DRIVE }),
      });
      expect(byAssess.end).toEqual({ kind: 'failed', error: 'Incident' });
    });
    test('a saga compensated or completed before is only reported', async () => {
      const assess = (route: string, state: string) => () => ({ route, state, drive: DRIVE });
      const compensated = await run(machine, {
        begin: throwing(TERMINAL),
        assess: assess('compensated', 'compensated'),
      });
      expect(compensated.tried).toEqual(['begin', 'assess']);
      expect(compensated.end).toEqual({ kind: 'failed', error: 'Compensated' });
      const completed = await run(machine, {
        complete: throwing('Error'),
        assess: assess('completed', 'completed'),
      });
      expect(completed.end).toEqual({ kind: 'succeeded', output: { state: 'completed' } });
    });
  });

  describe('parking ends the execution well, with the state of the saga', () => {
    test('by assess', async () => {
      const { tried, end } = await run(machine, {
        hold: throwing(WAITING),
        assess: () => ({ route: 'parked', state: 'waiting', drive: DRIVE }),
      });
      expect(tried).toEqual(['begin', 'look', 'hold', 'assess']);
      expect(end).toEqual({ kind: 'succeeded', output: { state: 'waiting' } });
    });
    test('by settle', async () => {
      const { end } = await run(machine, {
        hold: throwing(TERMINAL),
        settle: () => ({ outcome: 'parked', state: 'needs_review' }),
      });
      expect(end).toEqual({ kind: 'succeeded', output: { state: 'needs_review' } });
    });
    test('by an answer nobody knows: nothing is recovered by mistake', async () => {
      const { tried, end } = await run(machine, {
        hold: throwing(TERMINAL),
        assess: () => ({ route: 'undo-everything', state: 'running', drive: DRIVE }),
      });
      expect(tried.at(-1)).toBe('assess');
      expect(end.kind).toBe('succeeded');
    });
    test('when assess fails for good, even where begin failed before: no path is missing', async () => {
      const { tried, end } = await run(machine, {
        begin: throwing('Lambda.ServiceException'),
        assess: throwing('Lambda.ServiceException'),
      });
      expect(new Set(tried)).toEqual(new Set(['begin', 'assess']));
      expect(end).toEqual({
        kind: 'succeeded',
        output: {
          Error: 'Lambda.ServiceException',
          Cause: expect.stringContaining('for the test') as string,
        },
      });
    });
    test('when settle fails for good, the state is the one assess saw', async () => {
      const { end } = await run(machine, {
        hold: throwing(TERMINAL),
        settle: throwing('Lambda.ServiceException'),
      });
      expect(end).toEqual({ kind: 'succeeded', output: { state: 'compensating' } });
    });
  });

  describe('ac-06: every error ends in assess, whatever its name', () => {
    const kinds: [string, Answer][] = [
      ['States.Timeout', timingOut],
      ['Lambda.Unknown', throwing('Lambda.Unknown')],
      ['Runtime.ExitError', throwing('Runtime.ExitError')],
      ['Runtime.OutOfMemory', throwing('Runtime.OutOfMemory')],
      ['Sandbox.Timedout', throwing('Sandbox.Timedout')],
      ['a class name that a bundler made', throwing('e')],
      [
        'a thrown text',
        () => {
          throw 'text';
        },
      ],
      [
        'a thrown undefined',
        () => {
          throw undefined;
        },
      ],
      ['a rejected object', () => Promise.reject({ code: 1 })],
    ];
    test.each(kinds)('%s costs three more tries, never another route', async (_, answer) => {
      const { tried, end } = await run(machine, { charge: answer });
      expect(tried.slice(0, 8)).toEqual([
        'begin',
        'look',
        'hold',
        'charge',
        'charge',
        'charge',
        'charge',
        'assess',
      ]);
      expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
    });
    test.each(NEVER_RETRIED)('%s is not tried again in this drive', async (name) => {
      const { tried } = await run(machine, { charge: throwing(name) });
      expect(tried.slice(3, 5)).toEqual(['charge', 'assess']);
    });
    test('ef-13: a passing fault is mended by the next try', async () => {
      let tries = 0;
      const { tried, end } = await run(machine, {
        charge: () => {
          tries += 1;
          if (tries < 3) throw named('Lambda.TooManyRequestsException');
          return null;
        },
      });
      expect(tried).toEqual([
        'begin',
        'look',
        'hold',
        'charge',
        'charge',
        'charge',
        'send',
        'complete',
      ]);
      expect(end.kind).toBe('succeeded');
    });
  });

  test.each(['begin', 'hold', 'recover.hold', 'assess', 'settle', 'complete'])(
    'ac-05: a payload limit in %s is caught by the entry that names it',
    async (state) => {
      const { end, tried } = await run(machine, {
        look:
          state === 'hold' || state === 'begin' || state === 'complete'
            ? () => null
            : throwing(TERMINAL),
        [state]: throwing('States.DataLimitExceeded'),
      });
      expect(tried).toContain(state);
      expect(end).toEqual(
        state === 'assess' || state === 'settle'
          ? { kind: 'succeeded', output: expect.anything() as unknown }
          : { kind: 'failed', error: 'Compensated' },
      );
    },
  );
}

export function behaviourOfDiamond(run: RunMachine): void {
  const machine = compiled(diamond);
  test('a wave costs no Task of its own', async () => {
    const { tried, entered, end } = await run(machine);
    expect([...tried].sort()).toEqual(['begin', 'close', 'complete', 'left', 'open', 'right']);
    expect(entered.filter((state) => !tried.includes(state))).toEqual(['wave.2']);
    expect(end).toEqual({ kind: 'succeeded', output: { state: 'completed' } });
  });

  test('siblings finish beside a failing branch; the next claim is refused, and that leads to assess', async () => {
    let rightEnded = false;
    const { tried, entered, end } = await run(machine, {
      left: throwing(TERMINAL),
      right: async () => {
        await new Promise((later) => setImmediate(later));
        rightEnded = true;
      },
      close: () => {
        expect(rightEnded).toBe(true);
        return throwing(NOT_READY)({ state: 'close', functionName: '', payload: {} });
      },
    });
    expect(entered).toContain('caught.left');
    expect(tried.slice(-6, -4)).toEqual(['assess', 'recover.close']);
    expect(tried.slice(-4, -2).sort()).toEqual(['recover.left', 'recover.right']);
    expect(tried.slice(-2)).toEqual(['recover.open', 'settle']);
    expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
  });

  test('a failing recovery branch keeps back neither its sibling nor what follows', async () => {
    const { tried, entered, end } = await run(machine, {
      close: throwing(TERMINAL),
      'recover.left': throwing('Error'),
      'recover.open': throwing(NOT_READY),
      settle: () => ({ outcome: 'parked', state: 'needs_review' }),
    });
    expect(entered).toContain('left.left');
    for (const state of ['recover.close', 'recover.right', 'recover.open', 'settle']) {
      expect(tried).toContain(state);
    }
    expect(end).toEqual({ kind: 'succeeded', output: { state: 'needs_review' } });
  });
}

export function behaviourOfReading(run: RunMachine): void {
  const machine = compiled(reading);
  test('without anything to recover, recovery goes straight to settle', async () => {
    const { tried, end } = await run(machine, { look: throwing(TERMINAL) });
    expect(tried).toEqual(['begin', 'look', 'assess', 'settle']);
    expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
  });
}

/** For any saga: all goes well, or one step after the other fails for good. */
export function behaviourOf(saga: AnySaga, run: RunMachine): void {
  const machine = compiled(saga);
  const names = saga.steps.map(({ name }) => name);
  const recovery = saga.plan.recoveryWaves.map((wave) => wave.map((name) => `recover.${name}`));

  test('all goes well: each step once, in order', async () => {
    const { tried, end } = await run(machine);
    expect(tried).toEqual(['begin', ...names, 'complete']);
    expect(end).toEqual({ kind: 'succeeded', output: { state: 'completed' } });
  });

  test.each(names)(
    '%s fails: what follows it is left out, and recovery keeps its order',
    async (name) => {
      const { tried, end } = await run(machine, { [name]: throwing(TERMINAL) });
      const forward = ['begin', ...names.slice(0, names.indexOf(name) + 1), 'assess'];
      expect(tried.slice(0, forward.length)).toEqual(forward);
      let at = forward.length;
      for (const wave of recovery) {
        expect(tried.slice(at, at + wave.length).sort()).toEqual([...wave].sort());
        at += wave.length;
      }
      expect(tried.slice(at)).toEqual(['settle']);
      expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
    },
  );
}
