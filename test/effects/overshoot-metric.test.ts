import type { Command } from 'counterstep';
import { expect, test } from 'vitest';
import { systemEntropy } from '../../lambdas/ports/entropy.ts';
import { silentLog } from '../../lambdas/ports/log.ts';
import { SagaLedger } from '../../lambdas/runtime/saga-ledger.ts';
import { memoryStores } from '../../lambdas/stores/memory/open.ts';
import { HandClock } from '../service/world.ts';
import { Rules } from '../support/saga-builder.ts';

/** The same commands to the rules and to the one writer of ledgers. */
async function counted(costMinor: number): Promise<string[]> {
  const names: string[] = [];
  const clock = new HandClock();
  const host = {
    stores: memoryStores(),
    clock,
    entropy: systemEntropy,
    log: silentLog,
    metrics: { count: (name: string) => names.push(name), gauge: () => {}, flush: () => {} },
  };
  const ledger = new SagaLedger(host);
  const id = { tenant: 'acme', sagaId: 'saga-1' };
  const rules = new Rules([
    { name: 'a', effect: 'reversible_with_cost', costMinor: 300 },
    { name: 'b' },
  ]);
  const [first] = rules.events;
  if (first?.type !== 'saga_started') throw new Error('no start');
  clock.time = rules.now;
  const write = (command: Command) => ledger.write(id, command, { actor: 'drive' });
  await write({ kind: 'start', event: first });
  const does = async (command: Command): Promise<void> => {
    rules.does(command);
    expect((await write(command)).verdict.kind).toBe('append');
  };
  await does(rules.claim('a'));
  await does(rules.commit('a'));
  await does(rules.claim('b'));
  await does(rules.fail('b', 'terminal_compensate'));
  await does(rules.assess());
  await does(rules.claim('a', 'compensate'));
  await does(rules.commit('a', 'compensate', { cost: { costMinor, currency: 'EUR' } }));
  return names;
}

test('an undo that costs more than was set aside for it is counted, once', async () => {
  expect(await counted(301)).toEqual(['RecoveryOvershoots']);
  expect(await counted(300)).toEqual([]);
});
