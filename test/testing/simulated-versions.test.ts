import { describe, expect, it } from 'vitest';
import { order } from '../../examples/order/saga.ts';
import { refund } from '../../examples/refund/saga.ts';
import { anySaga } from '../../scripts/simulate/any-saga.ts';
import { guarded } from '../../scripts/simulate/guarded.ts';
import { simulatedSagas } from '../../scripts/simulate/sagas.ts';
import { WORLD_SIZE } from '../../scripts/simulate/share.ts';
import { checkReruns } from '../../testing/checker/reruns.ts';
import { exampleOf } from '../../testing/example.ts';
import { Policies } from '../../testing/policies.ts';
import type { Strike } from '../../testing/strikes.ts';
import { CHANGES, isDerived, versionOf, whyUnfit } from '../../testing/versions.ts';
import { type Outcome, playWorld } from '../../testing/world.ts';

async function played(strikes: readonly Strike[]): Promise<readonly Outcome[]> {
  const input = exampleOf(guarded.input, 'the input', { number: 1 });
  const started = [{ saga: guarded, tenant: 'acme', key: 'key-0', atMs: 0, input }];
  return (await playWorld({ seed: 1, started, strikes }, { later: [] })).outcomes;
}

it('every definition that `npm run simulate` draws can be built', () => {
  expect(simulatedSagas(WORLD_SIZE.shapes).length).toBeGreaterThan(WORLD_SIZE.shapes);
  for (let shape = 1; shape <= 300; shape += 1) expect(anySaga(shape).steps).not.toEqual([]);
});

describe('a later version', () => {
  it('differs from the first, and is the same one each time', () => {
    for (const change of CHANGES) {
      for (const saga of [order, refund]) {
        const version = versionOf(saga, change, 1);
        expect(versionOf(saga, change, 1)).toBe(version);
        if (version === undefined) continue;
        expect(version.plan.digest).not.toBe(saga.plan.digest);
        expect(version.name).toBe(saga.name);
        expect(isDerived(version)).toBe(true);
      }
    }
    expect(isDerived(order)).toBe(false);
  });

  it('can be made of most definitions, in every way', () => {
    const sagas = simulatedSagas(8);
    for (const change of CHANGES) {
      const made = sagas.filter((saga) => [0, 1].some((at) => versionOf(saga, change, at)));
      expect(made.length, change).toBeGreaterThan(sagas.length / 3);
    }
  });

  it('fits a saga as long as all that it still needs is there', async () => {
    const [outcome] = await played([]);
    const events = outcome?.events ?? [];
    const upTo = (step: string): typeof events =>
      events.slice(
        0,
        events.findIndex((event) => event.type === 'step_committed' && event.step === step) + 1,
      );
    const verdicts = CHANGES.map((change) => {
      const version = versionOf(guarded, change, change === 'added' ? 0 : 1);
      return [change, version === undefined ? 'none' : whyUnfit(upTo('paper'), version)];
    });
    expect(verdicts).toEqual([
      ['type', undefined],
      ['patience', undefined],
      ['renamed', '"desk" is gone'],
      ['removed', '"desk" is gone'],
      ['added', '"in_front" is new'],
      ['reordered', '"hall" comes before "desk"'],
      ['retooled', '"desk" uses book-room-next'],
      ['reclassed', 'none'],
    ]);
    const turned = versionOf(guarded, 'reordered', 1);
    expect(turned === undefined ? 'none' : whyUnfit(upTo('hall'), turned)).toBeUndefined();
  });
});

describe('policies', () => {
  it('are shown claims that none of them allowed', async () => {
    const [outcome] = await played([]);
    const id = { tenant: 'acme', sagaId: 'saga' };
    const policies = new Policies({ tools: new Set(['book-room']), mishap: () => undefined });
    expect(policies.findings(id, outcome?.events ?? [])).toEqual([
      expect.stringMatching(/^5: claim \d+ of desk was made without asking its policy$/),
      expect.stringMatching(/^5: claim \d+ of hall was made without asking its policy$/),
    ]);
    const claims = (outcome?.events ?? []).map((event) =>
      event.type === 'step_claimed' ? { ...event, policyVersion: 'simulated-1' } : event,
    );
    expect(policies.findings(id, claims)).toEqual([
      expect.stringMatching(/^5: claim \d+ of desk is more than its policy allowed \(0\)$/),
      expect.stringMatching(/^5: claim \d+ of hall is more than its policy allowed \(0\)$/),
    ]);
  });
});

describe('sagas that were run again', () => {
  const refused: Strike = {
    kind: 'provider',
    saga: 0,
    step: 'notice',
    action: 'forward',
    nth: 1,
    times: 1,
    mishap: 'refused',
  };
  const again: Strike = { kind: 'rerun', saga: 0, key: 'again', afterMs: 10 };

  const ledger = (
    { id, events }: Outcome,
    change: (event: object) => object = (event) => event,
  ) => ({
    id,
    records: events.map((event) => ({
      seq: event.seq,
      body: JSON.stringify(change(event)),
      prev: '',
      hash: '',
    })),
  });

  it('go on with the work of one saga, one of them, as its checkpoint left it', async () => {
    const [first, second] = await played([refused, again]);
    if (first === undefined || second === undefined) throw new Error('it was not run again');
    const start = second.events[0] as unknown as { adopted: { hash: string; seq: number }[] };
    const hashes = new Map(start.adopted.map(({ seq, hash }) => [seq, hash]));
    const origin = ledger(first);
    const before = {
      ...origin,
      records: origin.records.map((each) => ({ ...each, hash: hashes.get(each.seq) ?? '' })),
    };
    const judged = (other = ledger(second), old = before): string[] => checkReruns([old, other]);
    expect(judged()).toEqual([]);
    const twin = { ...ledger(second), id: { ...second.id, sagaId: 'twin' } };
    expect(checkReruns([before, ledger(second), twin])[0]).toMatch(/^4: .* both go on with /);
    expect(checkReruns([ledger(second)])[0]).toMatch(/^8: .*which has no ledger/);
    expect(judged(ledger(second), origin)[0]).toMatch(/^11: .* by a hash that no record has/);
    const nothing = judged(ledger(second, (event) => ({ ...event, adopted: undefined })));
    expect(nothing[0]).toMatch(/^4: .* does paper again, which the checkpoint kept/);
    const more = judged(
      ledger(second, (event) => ({
        ...event,
        adopted: start.adopted.map((each) => ({ ...each, step: 'desk' })),
      })),
    );
    expect(
      more.some((each) => /^2: .* adopts desk, which the checkpoint did not keep/.test(each)),
    ).toBe(true);
    const unclaimed = {
      ...before,
      records: before.records.filter(({ body }) => !body.includes('rerun_claimed')),
    };
    expect(judged(ledger(second), unclaimed)[0]).toMatch(/^9: .* work that it never claimed/);
    const running = { ...before, records: before.records.slice(0, 5) };
    expect(judged(ledger(second), running)[0]).toMatch(/^1: .* is not compensated/);
  });
});
