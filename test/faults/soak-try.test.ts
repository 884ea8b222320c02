import { test } from 'vitest';
import type { PartnerFault } from './partners.ts';
import { runWith, type Scenario } from './world.ts';
import { VirtualTime } from '../support/virtual-clock.ts';
function rng(seed: number) { let s = (seed * 2654435761) >>> 0; return () => { s = (s + 0x6d2b79f5) >>> 0; let t = Math.imul(s ^ (s >>> 15), 1 | s); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 4294967296; }; }
export async function soak(seed: number) {
  const r = rng(seed);
  const faults: (PartnerFault|undefined)[] = ['throttle', 'drop_before', 'commit_then_drop', 'commit_late', 'hang'];
  const pRefuse = r() < 0.5 ? 0.1 : 0;
  const p = r() * 0.4; const sp = r() * 0.08;
  const cancelAt = r() < 0.3 ? r() * 10000 : undefined;
  const scenario: Scenario = { name: String(seed), behaviour: (op, n) => {
     if (r() < pRefuse && n === 1 ) return 'refuse';
     return n < 6 && r() < p ? faults[Math.floor(r() * faults.length)] : undefined; },
     ...(cancelAt === undefined ? {} : { meanwhile: async (plane, id) => { await plane.time.world.sleep(cancelAt); await plane.insist((e) => e.ledger.write(id, { kind: 'cancel', reason: 'x' }, { actor: 'ada' })); } }) };
  const time = new VirtualTime();
  let left = Math.floor(r() * 8);
  const modes = ['error', 'restart', 'hang'] as const;
  return runWith(scenario, time, (at) => { if (left > 0 && r() < sp) { left -= 1; return modes[Math.floor(r() * 3)]; } return undefined; });
}
test('soak', async () => {
  const from = Number(process.env.FROM ?? 1), n = Number(process.env.N ?? 1000);
  const ends = new Map<string, number>(); const kinds = new Map<string, {n:number, seed:number, ran: unknown}>();
  const t0 = performance.now();
  for (let seed = from; seed < from + n; seed++) {
    const ran = await soak(seed);
    ends.set(ran.end + ran.reason + ran.reviewed, (ends.get(ran.end+ran.reason + ran.reviewed) ?? 0) + 1);
    if (ran.findings.length) { const k = ran.findings.map(f => f.replace(/\d+/g, '#')).join(' | '); const e = kinds.get(k) ?? { n: 0, seed, ran }; e.n++; kinds.set(k, e); }
  }
  console.log(ends, performance.now() - t0);
  for (const [k, e] of kinds) console.log(e.n, k, e.seed, process.env.V ? JSON.stringify(e.ran, null, 1) : '');
}, 600000);
