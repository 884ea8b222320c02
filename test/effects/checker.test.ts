import { describe, expect, it } from 'vitest';
import { genesisHash, sealEvent } from '../../statemachines/ledger/chain.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { check } from '../../testing/checker/check.ts';
import { Rules, type StepSpec } from '../support/saga-builder.ts';

/** What the independent checker says of checkpoints, and that it would say it. */

const ID = { tenant: 'acme', sagaId: 'saga-1' };
const TRIP: readonly StepSpec[] = [
  { name: 'hold' },
  { name: 'pay', effect: 'compensable', checkpoint: true },
  { name: 'pick' },
  { name: 'pack' },
];

function findings(events: readonly SagaEvent[]): string[] {
  let prev = genesisHash(ID.tenant, ID.sagaId);
  const records = events.map((event) => {
    const record = sealEvent(prev, event);
    prev = record.hash;
    return record;
  });
  return check(ID, records);
}

/** Compensated to checkpoint `pay`. */
function compensated(): SagaEvent[] {
  const rules = new Rules(TRIP).done('hold', 'pay', 'pick').refused('pack');
  rules.does(rules.assess());
  rules.undone('pick');
  rules.does(rules.settle());
  return rules.events;
}

/** The last event, changed. */
function ending(events: readonly SagaEvent[], change: object): SagaEvent[] {
  return events.map((event, index) =>
    index === events.length - 1 ? ({ ...event, ...change } as SagaEvent) : event,
  );
}

/** Event 1 says that these were adopted. */
function adopting(events: readonly SagaEvent[], ...steps: readonly string[]): SagaEvent[] {
  const adopted = steps.map((step) => ({ step, seq: 3, hash: '', result: null, externalIds: {} }));
  return events.map((event, index) =>
    index === 0 ? ({ ...event, previous: 'saga-0', adopted } as SagaEvent) : event,
  );
}

describe('a ledger compensated to a checkpoint', () => {
  it('holds', () => {
    expect(findings(compensated())).toEqual([]);
  });

  it.each([
    ['names none', { checkpoint: undefined }, ['2: compensated although hold stands']],
    ['names a step that closes none', { checkpoint: 'hold' }, ['which is no checkpoint']],
    ['names a step that was undone', { checkpoint: 'pick' }, ['keeps pick, which is undone']],
    ['names a step that was refused', { checkpoint: 'pack' }, ['keeps pack, which is not done']],
  ])('is found out where its end %s', (_what, change, expected) => {
    const text = findings(ending(compensated(), change)).join('\n');
    for (const words of expected) expect(text).toContain(words);
  });
});

describe('a ledger that adopts', () => {
  it('is found out where it claims what it adopted, or does not keep it', () => {
    const rules = new Rules(TRIP).done('hold').refused('pay');
    rules.does(rules.assess());
    rules.undone('hold');
    rules.does(rules.settle());
    expect(findings(rules.events)).toEqual([]);
    const text = findings(adopting(rules.events, 'hold')).join('\n');
    expect(text).toContain('4: claim 2 of hold/forward, which was adopted');
    expect(text).toContain('2: hold was adopted, but is not kept');
  });

  it('may complete without doing what it adopted, and nothing else', () => {
    const rules = new Rules(TRIP).done('hold', 'pay', 'pick', 'pack');
    rules.does(rules.complete());
    const without = (...steps: readonly string[]): SagaEvent[] =>
      rules.events
        .filter((event) => !('step' in event) || !steps.includes(event.step ?? ''))
        .map((event, index) => ({ ...event, seq: index + 1 }));
    expect(findings(adopting(without('hold', 'pay'), 'hold', 'pay'))).toEqual([]);
    expect(findings(adopting(without('hold', 'pay'), 'hold'))).toEqual([
      '3: completed without pay',
    ]);
  });
});
