import { TERMINAL } from 'counterstep';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { document } from '../../examples/document/saga.ts';
import { order } from '../../examples/order/saga.ts';
import { refund } from '../../examples/refund/saga.ts';
import {
  behaviourOf,
  behaviourOfDiamond,
  behaviourOfLine,
  behaviourOfReading,
} from '../statemachines/asl/behaviour.ts';
import { compiled, type RunMachine, throwing, timingOut } from '../statemachines/asl/machine.ts';
import { line } from '../statemachines/samples.ts';
import { Moto } from './moto-machine.ts';

let moto: Moto;
beforeAll(async () => {
  moto = await Moto.start();
});
afterAll(() => moto.stop());

const run: RunMachine = (machine, answers) => moto.run(machine, answers);

describe.concurrent('line', () => behaviourOfLine(run));
describe.concurrent('diamond', () => behaviourOfDiamond(run));
describe.concurrent('reading', () => behaviourOfReading(run));
describe.concurrent.each([refund, order, document])('the example saga $name', (saga) =>
  behaviourOf(saga, run),
);

/** What the interpreter in this process does not show. */
describe.concurrent('errors as AWS makes them', () => {
  test.each([
    ['of a function, by its own name', TERMINAL, throwing(TERMINAL)],
    ['of the service', 'Lambda.ServiceException', throwing('Lambda.ServiceException')],
    ['of a call that outlasts its Task', 'States.Timeout', timingOut],
    [
      'of an answer too large to pass on',
      'States.DataLimitExceeded',
      throwing('States.DataLimitExceeded'),
    ],
  ])('the error %s reaches the machine as %s', async (_, name, answer) => {
    const { errors, end } = await moto.run(compiled(line), { charge: answer });
    expect(errors).toEqual({ charge: name });
    expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
  });

  /**
   * Here moto is not AWS: it lets States.ALL catch this error, so that the execution parks. On AWS
   * States.ALL catches neither States.Runtime nor States.DataLimitExceeded, and the execution fails:
   * https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
   * What holds on both is that no function is called with ids that are missing.
   */
  test('without the ids of a drive nothing is called', async () => {
    const { tried, errors } = await moto.run(compiled(line), {}, {});
    expect(tried).toEqual([]);
    expect(errors).toEqual({ begin: 'States.Runtime', assess: 'States.Runtime' });
  });
});
