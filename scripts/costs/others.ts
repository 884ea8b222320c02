import { ASSUMED, invocationUsd } from './bill.ts';
import type { PriceList } from './prices.ts';

/** The same saga of four steps, made another way: USD per million, and what is counted. */
export interface Other {
  readonly name: string;
  readonly completing: string;
  readonly failing: string;
  readonly counted: string;
}

/** Failing: the fourth step is refused, and the three before it are undone. */
const STEPS = 4;
const UNDONE = STEPS - 1;

export function others({ prices }: PriceList): Other[] {
  const call = invocationUsd(ASSUMED.toolMs, { prices });
  const transition = prices.standardTransition.usd;
  // Four steps, a Task that notes the outcome, Succeed, and the start; failing: four steps, three
  // undone, Fail, and the start.
  const handWritten = {
    completing: (STEPS + 3) * transition + (STEPS + 1) * call,
    failing: (STEPS + UNDONE + 2) * transition + (STEPS + UNDONE) * call,
  };
  // One operation to begin, one for each step; all in one invocation that runs as long as its steps.
  const durable = (steps: number): number => {
    const compute = invocationUsd(steps * ASSUMED.toolMs, { prices });
    return (1 + steps) * prices.durableOperation.usd + compute;
  };
  const hosted = (steps: number): string => {
    const actions = 1 + steps;
    return `${usd(actions * prices.hostedActionLow.usd)}–${usd(actions * prices.hostedActionHigh.usd)}`;
  };
  return [
    {
      name: 'Hand-written saga on Step Functions, Standard',
      completing: usd(handWritten.completing),
      failing: usd(handWritten.failing),
      counted: `${STEPS + 3} and ${STEPS + UNDONE + 2} transitions, ${STEPS + 1} and ${STEPS + UNDONE} invocations; no ledger, no projection, no API`,
    },
    {
      name: 'Lambda durable functions',
      completing: usd(durable(STEPS)),
      failing: usd(durable(STEPS + UNDONE)),
      counted: `${1 + STEPS} and ${1 + STEPS + UNDONE} operations, one invocation; data written and kept come on top; no ledger, no projection, no API`,
    },
    {
      name: 'Hosted workflow service',
      completing: hosted(STEPS),
      failing: hosted(STEPS + UNDONE),
      counted: `${1 + STEPS} and ${1 + STEPS + UNDONE} actions; workers, a ledger and an API come on top`,
    },
  ];
}

export function usd(amount: number): string {
  return amount.toFixed(amount < 100 ? 2 : 0);
}
