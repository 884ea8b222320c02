import { type Check, check } from './checks.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { chainLine, checkLines, standingTable, story } from './show.ts';
import { openWorld, type World } from './world.ts';

/**
 * `npm run demo`: real sagas on the embedded store, against partner systems in their own process. Exits
 * 0 only if every scenario came out right.
 */
const print = (lines: readonly string[]): void =>
  void process.stdout.write(`${lines.join('\n')}\n`);

const began = Date.now();
print(['Starting the partner systems, the mail server and the plane …', '']);
const world = await openWorld();
let failed = 0;
try {
  for (const scenario of SCENARIOS) failed += await perform(world, scenario);
} finally {
  await world.close();
}
const seconds = ((Date.now() - began) / 1000).toFixed(1);
print([
  failed === 0
    ? `All ${SCENARIOS.length} scenarios came out right, in ${seconds} s.`
    : `${failed} claims did not hold, in ${seconds} s.`,
]);
process.exitCode = failed === 0 ? 0 : 1;

/** Answers how many claims did not hold. */
async function perform(world: World, scenario: Scenario): Promise<number> {
  print([`(${scenario.name}) ${scenario.title}`]);
  try {
    const { id, checks } = await scenario.run(world, `order-${scenario.name}`);
    const plane = world.plane();
    const verdict = await plane.verification(id);
    const all: Check[] = [...checks, check('the chain verifies', verdict.verdict === 'valid')];
    print(story(await plane.events(id)));
    print(standingTable(await plane.standing(id)));
    print([chainLine(verdict), ...checkLines(all), '']);
    return all.filter(({ ok }) => !ok).length;
  } catch (error) {
    print([`  NOT finished: ${error instanceof Error ? error.message : String(error)}`, '']);
    return 1;
  }
}
