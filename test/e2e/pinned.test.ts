import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { standing } from '../../examples/demo/checks.ts';
import { type Partners, startPartners } from '../../examples/partners/start.ts';
import { machineOf } from './aws.ts';
import { deploy, VERSIONED } from './deployed.ts';
import { play, refundOfOrder } from './scenario.ts';
import { target } from './target.ts';
import { type DeployedWorld, openDeployedWorld, orderId } from './worlds.ts';

/** Deployments over a plane that is in use. The local plane has no machines and no versions. */
const deploys = target.kind === 'emulator' || target.kind === 'endpoint';

// What is deployed to an account is not this suite's to change.
describe.skipIf(!deploys)('deployed again', () => {
  let deployed: DeployedWorld;
  beforeAll(async () => {
    deployed = await openDeployedWorld('EXPRESS');
  });
  afterAll(async () => {
    await deployed.world.close();
    await deployed.issuer.close();
  });

  test.each(['a', 'b', 'c', 'd'])('scenario (%s) on Express machines', async (name) => {
    const { world } = deployed;
    const id = await play(world, name, orderId(`express-${name}`));
    expect(machineOf(await world.plane().events(id))).toMatch(/-refund-express(?::\d+)?$/);
  });

  // Without versions of machines nothing pins a saga to the functions it began with.
  describe.skipIf(!VERSIONED)('with functions that changed', () => {
    let folder: string;
    let otherPartners: Partners;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'counterstep-partners-'));
      otherPartners = await startPartners({ dataDir: folder });
    });
    afterAll(async () => {
      await otherPartners.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test('sagas that wait go on with the versions they began with', async () => {
      const { world, standIn, issuer } = deployed;
      const held = orderId('held');
      const match = { orderId: held };
      await world.fault({ system: 'erp', operation: 'create', fault: 'refuse', match });
      const release = { system: 'stock', operation: 'release' } as const;
      await world.fault({ ...release, fault: 'refuse', match: {}, times: 1 });
      const reviewed = await world.plane().start('refund', held, refundOfOrder(held));
      await world.plane().untilEnded(reviewed.id);

      const waiting = orderId('waiting');
      await world.fault({
        system: 'payments',
        operation: 'charge',
        fault: 'pending',
        match: { orderId: waiting },
        delayMs: 60_000,
      });
      const parked = await world.plane().start('order', waiting, {
        orderId: waiting,
        customerId: 'C-1',
        address: 'Example Street 1',
        sku: 'SKU-7',
        quantity: 1,
        amountMinor: 12_900,
        currency: 'EUR',
      });
      await world.plane().until(parked.id, ({ drive }) => drive.state === 'parked');

      // Another address in its environment makes another version of a function, as other code would.
      const plane = await deploy(
        { standIn, issuer, sagaType: 'EXPRESS' },
        { PARTNERS_URL: otherPartners.url, SMTP_URL: world.mail.url },
      );

      const fresh = orderId('fresh');
      const begun = await plane.start('refund', fresh, refundOfOrder(fresh));
      expect(await plane.untilEnded(begun.id)).toMatchObject({ state: 'completed' });
      expect(await standing(world, 'erp', fresh)).toBe(0);
      const { effects } = (await (
        await fetch(`${otherPartners.url}/erp/records?orderId=${fresh}`)
      ).json()) as { readonly effects: readonly unknown[] };
      expect(effects).toHaveLength(1);

      // The partner of the new functions knows nothing of what these two did before.
      await plane.resume(reviewed.id);
      const undone = await plane.until(reviewed.id, ({ state }) => state !== 'needs_review');
      const ended = undone.state === 'compensated' ? undone : await plane.untilEnded(reviewed.id);
      expect(ended).toMatchObject({ state: 'compensated' });
      expect(await standing(world, 'stock', held)).toBe(0);
      expect(await plane.untilEnded(parked.id)).toMatchObject({ state: 'completed' });
      expect(await standing(world, 'payments', waiting)).toBe(1);

      const [old, young] = await Promise.all(
        [reviewed.id, begun.id].map(async (id) => machineOf(await plane.events(id))),
      );
      const [, version = ''] = /^(?:.*):(\d+)$/.exec(old ?? '') ?? [];
      expect(young).toBe(old?.replace(/\d+$/, String(Number(version) + 1)));
    });
  });
});
