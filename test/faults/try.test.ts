import { test } from 'vitest';
import { run } from './world.ts';

test('happy', async () => {
  const t0 = performance.now();
  const ran = await run({ name: 'happy', behaviour: () => undefined });
  console.log(performance.now() - t0, ran);
  const t1 = performance.now();
  for (let i = 0; i < 20; i++) await run({ name: 'happy', behaviour: () => undefined });
  console.log((performance.now() - t1) / 20);
  console.log(
    await run({ name: 'email refused', behaviour: (o) => (o === 'send' ? 'refuse' : undefined) }),
  );
  console.log(
    await run({
      name: 'late credit',
      behaviour: (o) => (o === 'create' ? 'commit_late' : undefined),
    }),
  );
  console.log(
    await run({
      name: 'late stock',
      behaviour: (o, n) => (o === 'reserve' && n === 1 ? 'commit_late' : undefined),
    }),
  );
});
