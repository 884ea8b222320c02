import { expect, test } from 'vitest';
import * as z from 'zod';
import schema from '../../docs/events.schema.json' with { type: 'json' };
import { sagaEvent } from '../../lambdas/outbox/plane-events.ts';
import { transitionOf } from '../../lambdas/outbox/transitions.ts';
import { EVENT_SOURCE } from '../../statemachines/asl/environment.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { Rules } from '../support/saga-builder.ts';

const events = z.fromJSONSchema(schema as unknown as Parameters<typeof z.fromJSONSchema>[0]);
const saga = { tenant: 'acme', sagaId: 'saga-1', name: 'sample', version: '1' };

/** The last event of a saga whose second step was refused. */
function ended(checkpoint: boolean): SagaEvent {
  const rules = new Rules([
    { name: 'hold', ...(checkpoint ? { checkpoint } : {}) },
    { name: 'ship' },
  ]);
  rules.done('hold').refused('ship');
  rules.does(rules.assess());
  if (!checkpoint) rules.undone('hold');
  return rules.does(rules.settle());
}

test('that a checkpoint kept something is told to listeners, and fits what they are promised', () => {
  for (const [checkpoint, told] of [
    [true, { transition: 'compensated', checkpoint: 'hold' }],
    [false, { transition: 'compensated' }],
  ] as const) {
    const event = ended(checkpoint);
    const publication = transitionOf('compensating', event);
    if (publication === undefined) throw new Error('nothing is published');
    expect(publication).toEqual(told);
    const { type, detail } = sagaEvent(saga, event, publication);
    const sent = { source: EVENT_SOURCE, 'detail-type': type, detail };
    expect(events.safeParse(sent).success).toBe(true);
  }
});
