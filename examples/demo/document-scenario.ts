import type { SystemName } from '../partners/records.ts';
import { check, standing } from './checks.ts';
import type { Scenario } from './scenarios.ts';
import type { World } from './world.ts';

const SYSTEMS: readonly SystemName[] = ['documents', 'search', 'register'];

/** What was done for a case, over all three systems, in the order in which they did it. */
async function acts(world: World, caseId: string): Promise<string[]> {
  const records = await Promise.all(SYSTEMS.map((system) => world.records(system, caseId)));
  return records
    .flatMap(({ effects }) => effects)
    .toSorted((left, right) => left.seq - right.seq)
    .map(({ operation }) => operation);
}

/** The last of eleven steps fails for good: the three that wrote are undone, each in a way of its own. */
export const undelivered: Scenario = {
  name: 'g',
  title: 'A document cannot be delivered: DD11 of eleven steps fails for good',
  run: async (world, orderId) => {
    const caseId = `D-${orderId}`;
    await world.fault({
      system: 'register',
      operation: 'deliver',
      fault: 'refuse',
      code: 'recipient_unknown',
      match: { orderId: caseId },
    });
    const input = { caseId, title: 'An invoice of May', recipient: 'ada@example.com' };
    const { id } = await world.plane().start('document', `document-${orderId}`, input);
    const { state } = await world.plane().untilEnded(id);
    const report = await world.plane().standing(id);
    const undone = report.steps.flatMap(({ step, standing: word }) =>
      word === 'reversed' || word === 'superseded' ? [step] : [],
    );
    const order = ['store', 'publish', 'list', 'bury', 'restore', 'withdraw'];
    const left = await Promise.all(SYSTEMS.map((system) => standing(world, system, caseId)));
    return {
      id,
      checks: [
        check('the saga is compensated', state === 'compensated'),
        check(
          'DD02, DD05 and DD08 are undone, and nothing else',
          undone.join() === 'DD02,DD05,DD08',
        ),
        check(
          'the partners undid them last first',
          (await acts(world, caseId)).join() === order.join(),
        ),
        check(
          'nothing of it stands there',
          left.every((count) => count === 0),
        ),
      ],
    };
  },
};
