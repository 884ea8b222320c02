import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLocalPlane } from 'counterstep/local';
import { afterEach, beforeEach, expect, test } from 'vitest';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'counterstep-dev-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = () => openLocalPlane({ sagas: [], tools: [], dataDir: folder, port: 0 });

function statusUnder(url: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/sagas`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject).end();
  });
}

test('a second plane on the same folder is refused, and the first goes on', async () => {
  const first = await open();
  await expect(open()).rejects.toMatchObject({ message: expect.stringContaining(folder) });
  expect((await fetch(`${first.url}/v1/sagas`)).status).toBe(200);
  await first.close();
  const second = await open();
  await second.close();
});

test('a port that is taken is named, and the folder is free again', async () => {
  const first = await open();
  const port = Number(new URL(first.url).port);
  const other = join(folder, 'other');
  await expect(openLocalPlane({ sagas: [], tools: [], dataDir: other, port })).rejects.toThrow(
    `port ${port} is taken`,
  );
  await first.close();
  const again = await openLocalPlane({ sagas: [], tools: [], dataDir: other, port: 0 });
  await again.close();
});

test("another name that leads to this machine is refused: a browser's page may not drive sagas", async () => {
  const plane = await open();
  const { port } = new URL(plane.url);
  expect(await statusUnder(plane.url, `localhost:${port}`)).toBe(200);
  expect(await statusUnder(plane.url, `rebound.example:${port}`)).toBe(403);
  await plane.close();
});
