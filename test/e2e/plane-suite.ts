import { afterAll, beforeAll, describe, test } from 'vitest';
import type { LedgerEvent } from '../../examples/demo/plane-client.ts';
import type { SagaType } from '../../statemachines/language/effects.ts';
import { executionTests } from './execution-tests.ts';
import { expectNeverLate, play } from './scenario.ts';
import { scenarioTests } from './scenario-tests.ts';
import { serves, target } from './target.ts';
import { tenantTests } from './tenant-tests.ts';
import { openPlace, orderId, type Place } from './worlds.ts';

/**
 * What holds of the example sagas wherever the plane runs and whichever type their machines have: the
 * demonstration's scenarios, failures of partners, executions and functions, and two tenants beside
 * each other. Most of its time is waited for the sweep, so its sagas wait beside each other.
 */
export function planeSuite(sagaType: SagaType): void {
  // In an account only one type is deployed, and not by this suite.
  describe.skipIf(!serves(sagaType))(`example sagas, ${sagaType}`, () => {
    let place: Place | undefined;
    const at = (): Place => {
      if (place === undefined) throw new Error('the plane is not open');
      return place;
    };
    beforeAll(async () => {
      place = await openPlace(sagaType);
    });
    afterAll(() => place?.close());

    // Before all others: the person in it mends every fault there is.
    test('scenario (c): the undo fails too, a person resumes', async () => {
      await play(at(), 'c', orderId('c'));
    });

    const killing = new Killing(at);
    // Before all others too: what is killed serves them all.
    killable('scenario (e): a process is killed between commit and record', () => killing.killed());

    describe.concurrent('beside each other', () => {
      killable('scenario (e): the killed one is found', () => killing.ended());
      // Those that wait longest first.
      executionTests(at);
      tenantTests(at);
      scenarioTests(at);
    });
  });
}

// Where processes are ours, or a stand-in's that hands them over. Nobody can kill a Lambda of an account,
// or in another's emulator, from outside.
const killable = test.skipIf(target.kind !== 'local' && target.kind !== 'emulator');

/** Scenario (e), which is over long after the kill: other sagas run while its own waits to be found. */
class Killing {
  readonly #at: () => Place;
  #killed: Promise<void> | undefined;
  #ended: Promise<readonly LedgerEvent[]> | undefined;

  constructor(at: () => Place) {
    this.#at = at;
  }

  /** Begins, and resolves once nothing more is killed. */
  async killed(): Promise<void> {
    const ended = this.#begin();
    await Promise.race([this.#killed, ended]);
  }

  async ended(): Promise<void> {
    // A machine repeats a task whose function died, so the sweep may find nothing left to do.
    expectNeverLate(await this.#begin());
  }

  #begin(): Promise<readonly LedgerEvent[]> {
    if (this.#ended !== undefined) return this.#ended;
    const { world, sagaType } = this.#at();
    let killed = (): void => {};
    this.#killed = new Promise((resolve) => {
      killed = resolve;
    });
    const killAndRestart = async (tool?: string): Promise<void> => {
      await world.killAndRestart(tool);
      killed();
    };
    const ended = play({ sagaType, world: { ...world, killAndRestart } }, 'e', orderId('e'));
    // Whoever waits for it is told; until then nobody does.
    ended.catch(() => {});
    this.#ended = ended;
    return ended;
  }
}
