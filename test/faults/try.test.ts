import { test } from 'vitest';
import { FORWARD, RECOVERY } from './scenarios.ts';
import { sweep, tableOf } from './sweep.ts';
test('all', async () => {
  const all = [];
  const t0 = performance.now();
  for (const s of [...FORWARD, ...RECOVERY]) {
    if (process.env.ONLY && !s.name.includes(process.env.ONLY)) continue;
    const swept = await sweep(s);
    all.push(swept);
    const kinds = new Map<string, {n: number, ex: unknown}>();
    for (const b of swept.broken) {
      const k = b.ran.findings.join(' | ') || 'not struck';
      const e = kinds.get(k) ?? { n: 0, ex: undefined };
      e.n++; e.ex ??= b; kinds.set(k, e);
    }
    if (swept.undisturbed.findings.length) console.log(s.name, 'UNDISTURBED', swept.undisturbed);
    for (const [k, e] of kinds) console.log(s.name, e.n, k, process.env.V ? JSON.stringify(e.ex, null, 1) : JSON.stringify((e.ex as any).fault));
  }
  console.log(tableOf(all), performance.now() - t0);
}, 600000);
