import { describe, expect, it } from 'vitest';
import {
  type Breaker,
  type BreakerCommand,
  type BreakerVerdict,
  decideBreaker,
  evolveBreaker,
  FRESH_BREAKER,
} from '../../statemachines/rules/breaker.ts';
import { SKEW_MS } from '../../statemachines/rules/protocol.ts';

const POLICY = { failures: 3, withinMs: 10_000, openMs: 5_000 };
const LEASE_MS = 2_000;

/** One breaker under the rules alone, with a clock that the test moves. */
class Rules {
  breaker: Breaker = FRESH_BREAKER;
  now = 1_000_000;

  asks(command: BreakerCommand): BreakerVerdict {
    return decideBreaker(this.breaker, command, POLICY, this.now);
  }

  does(command: BreakerCommand): BreakerVerdict {
    const verdict = this.asks(command);
    if (verdict.kind === 'append') this.breaker = evolveBreaker(this.breaker, verdict.event);
    return verdict;
  }

  wait(ms: number): this {
    this.now += ms;
    return this;
  }

  breaks(probe?: string): BreakerVerdict {
    return this.does({ kind: 'failed', code: 'busy', ...(probe === undefined ? {} : { probe }) });
  }

  works(probe?: string): BreakerVerdict {
    return this.does({ kind: 'worked', ...(probe === undefined ? {} : { probe }) });
  }

  admits(probe = 'p'): BreakerVerdict {
    return this.does({ kind: 'admit', probe, leaseMs: LEASE_MS });
  }

  opened(): this {
    for (let failure = 0; failure < POLICY.failures; failure += 1) this.breaks();
    return this;
  }
}

const NOTHING = { kind: 'nothing' };

describe('a closed breaker', () => {
  it('lets every call through and records no success', () => {
    const rules = new Rules();
    expect(rules.admits()).toEqual(NOTHING);
    expect(rules.works()).toEqual(NOTHING);
    rules.breaks();
    expect(rules.works()).toEqual(NOTHING);
    expect(rules.admits()).toEqual(NOTHING);
  });

  it('counts failures, each with its number, and opens with the last that it allows', () => {
    const rules = new Rules();
    expect(rules.breaks()).toEqual({
      kind: 'append',
      event: {
        seq: 1,
        at: 1_000_000,
        type: 'failure_counted',
        after: { kind: 'closed', failures: [1_000_000] },
        code: 'busy',
      },
    });
    rules.wait(10).breaks();
    expect(rules.wait(10).breaks()).toMatchObject({
      event: {
        seq: 3,
        type: 'breaker_opened',
        after: { kind: 'open', since: 1_000_020, until: 1_005_020 },
        code: 'busy',
      },
    });
  });

  it('forgets failures that are past its window', () => {
    const rules = new Rules();
    rules.breaks();
    rules.breaks();
    rules.wait(POLICY.withinMs).breaks();
    expect(rules.breaker.state).toEqual({ kind: 'closed', failures: [1_010_000] });
    rules.wait(1).breaks();
    expect(rules.breaks()).toMatchObject({ event: { type: 'breaker_opened' } });
  });

  it('is not confused by a clock that runs behind', () => {
    const rules = new Rules();
    rules.breaks();
    rules.wait(-500).breaks();
    expect(rules.breaker).toMatchObject({ at: 1_000_000, seq: 2 });
  });
});

describe('an open breaker', () => {
  it('lets nothing through until its time is over', () => {
    const rules = new Rules().opened();
    const until = rules.now + POLICY.openMs;
    expect(rules.admits()).toEqual({ kind: 'refused', until });
    expect(rules.wait(POLICY.openMs - 1).admits()).toEqual({ kind: 'refused', until });
  });

  it('hears no call that began before it opened', () => {
    const rules = new Rules().opened();
    expect(rules.breaks()).toEqual(NOTHING);
    expect(rules.works()).toEqual(NOTHING);
    expect(rules.works('p')).toEqual(NOTHING);
  });

  it('then lets a single probe through', () => {
    const rules = new Rules().opened().wait(POLICY.openMs);
    expect(rules.admits('one')).toMatchObject({
      event: {
        type: 'probe_granted',
        after: { kind: 'half_open', probe: 'one', until: rules.now + LEASE_MS, since: 1_000_000 },
      },
    });
    const until = rules.now + LEASE_MS + SKEW_MS;
    expect(rules.admits('two')).toEqual({ kind: 'refused', until });
  });
});

describe('a half-open breaker', () => {
  const probing = () => {
    const rules = new Rules().opened().wait(POLICY.openMs);
    rules.admits('one');
    return rules;
  };

  it('closes when its probe works, and counts anew', () => {
    const rules = probing();
    expect(rules.works('one')).toMatchObject({
      event: { type: 'breaker_closed', after: { kind: 'closed', failures: [] } },
    });
    expect(rules.admits('two')).toEqual(NOTHING);
    rules.breaks();
    expect(rules.breaker.state.kind).toBe('closed');
  });

  it('opens again when its probe fails, and remembers since when', () => {
    const rules = probing().wait(100);
    expect(rules.breaks('one')).toMatchObject({
      event: {
        type: 'breaker_opened',
        after: { kind: 'open', since: 1_000_000, until: rules.now + POLICY.openMs },
      },
    });
    expect(rules.admits('two')).toMatchObject({ kind: 'refused' });
  });

  it('hears nobody but its probe', () => {
    const rules = probing();
    expect(rules.works()).toEqual(NOTHING);
    expect(rules.works('other')).toEqual(NOTHING);
    expect(rules.breaks('other')).toEqual(NOTHING);
    expect(rules.does({ kind: 'return', probe: 'other' })).toEqual(NOTHING);
  });

  it('lets another probe at once where the first made no call', () => {
    const rules = probing().wait(1);
    rules.does({ kind: 'return', probe: 'one' });
    expect(rules.breaker.state).toEqual({ kind: 'open', since: 1_000_000, until: rules.now });
    expect(rules.admits('two')).toMatchObject({ event: { type: 'probe_granted' } });
    expect(rules.works('one')).toEqual(NOTHING);
  });

  it('is not held by a probe that died: after its lease another may', () => {
    const rules = probing().wait(LEASE_MS + SKEW_MS - 1);
    expect(rules.admits('two')).toMatchObject({ kind: 'refused' });
    expect(rules.wait(1).admits('two')).toMatchObject({
      event: { type: 'probe_granted', after: { probe: 'two' } },
    });
    // The first one was only slow. Its word no longer counts.
    expect(rules.works('one')).toEqual(NOTHING);
    expect(rules.breaks('one')).toEqual(NOTHING);
    expect(rules.works('two')).toMatchObject({ event: { type: 'breaker_closed' } });
  });

  it('hears its probe also after the lease, while nobody took its place', () => {
    const rules = probing().wait(LEASE_MS * 10);
    expect(rules.works('one')).toMatchObject({ event: { type: 'breaker_closed' } });
  });
});
