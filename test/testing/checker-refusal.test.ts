import { exampleOf } from 'counterstep/testing';
import { describe, expect, it } from 'vitest';
import { refund } from '../../examples/refund/saga.ts';
import { type Event, number } from '../../testing/checker/records.ts';
import { repeats } from '../../testing/checker/repeats.ts';
import { mishapAt } from '../../testing/matrix-case.ts';
import { type Played, play } from '../../testing/play.ts';

/**
 * The undo of the stock is lost on its way, then refused under the same key, also once the first call can no
 * longer land. The person's retry takes a new key.
 */
function refusedUndo(): Promise<Played> {
  const lost = mishapAt('stock', 'compensate', 'request_lost');
  const pivot = mishapAt('email', 'forward', 'refused', true);
  let refusals = 0;
  return play({
    saga: refund,
    input: exampleOf(refund.input, 'the input', { number: 1 }),
    providers: {},
    trigger: (call) => {
      const first = lost(call) ?? pivot(call);
      if (
        first !== undefined ||
        call.step !== 'stock' ||
        call.action !== 'compensate' ||
        refusals > 1
      )
        return first;
      refusals += 1;
      return 'refused';
    },
  });
}

/** What is found of its repeats where the first undo could land until so much later. */
function found({ records, partners }: Played, laterMs: number): readonly string[] {
  const events = records.map(({ body }) => {
    const event = JSON.parse(body) as Event;
    const first = event.type === 'step_claimed' && event.attempt === 1;
    return first ? { ...event, settleUntil: number(event.settleUntil) + laterMs } : event;
  });
  const findings: string[] = [];
  for (const partner of partners) repeats(partner, events, findings);
  return findings;
}

describe('a new key after a call in doubt', () => {
  it('may follow a refusal of the same key, given once the first call can no longer land', async () => {
    const played = await refusedUndo();
    const keys = played.partners
      .filter(({ name }) => name === 'reserve-stock (compensate)')
      .flatMap(({ calls }) => calls.map(({ key, answer }) => [key, answer] as const));
    expect(keys.map(([, answer]) => answer)).toEqual(['lost', 'nothing', 'nothing', 'done']);
    expect(new Set(keys.map(([key]) => key)).size).toBe(2);
    expect(played).toMatchObject({ end: 'needs_review', finally: 'compensated', findings: [] });
  });

  it('is found where the first call could land yet', async () => {
    const played = await refusedUndo();
    expect(found(played, 0)).toEqual([]);
    // Two refusals came, the second a minute after the first.
    expect(found(played, 3_600_000)).toEqual([
      '4: reserve-stock (compensate) was called again under another key (compensate)',
    ]);
  });
});
