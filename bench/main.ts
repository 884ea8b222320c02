import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ceilings } from './ceilings.ts';
import { type ImportTime, importTime } from './import-time.ts';
import { Bench, type Figures, type Kind, type Shape } from './run.ts';

/**
 * `npm run bench [-- --quick] [-- --json]`: what a saga costs and how many a second the embedded store
 * takes, every event durable before it counts. Figures are printed, never asserted.
 */
const KINDS: readonly Kind[] = ['completing', 'failing'];
const CONCURRENCIES = [1, 16, 64];
/** A tool's function and the one that all sagas share. */
const ENTRIES = ['examples/order/lambdas/charge-payment.lambda.ts', 'examples/ledger.lambda.ts'];

const quick = process.argv.includes('--quick');
const jsonOnly = process.argv.includes('--json') || !process.stdout.isTTY;
const folder = mkdtempSync(join(tmpdir(), 'counterstep-bench-'));

try {
  const report = await run();
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  if (!jsonOnly || process.argv.includes('--table')) process.stdout.write(`\n${table(report)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

interface Report {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly shapes: readonly Shape[];
  readonly speeds: readonly Figures[];
  readonly verifiedEventsPerSecond: number;
  readonly imports: readonly ImportTime[];
  readonly ceilings: Awaited<ReturnType<typeof ceilings>>;
}

async function run(): Promise<Report> {
  const raw = await ceilings(join(folder, 'ceiling'), quick ? 300 : 2_000);
  const bench = await Bench.open(join(folder, 'sagas'));
  const shapes: Shape[] = [];
  for (const kind of KINDS) shapes.push(await bench.shape(kind));
  await bench.measure('completing', 16, quick ? 50 : 1_000);
  const speeds: Figures[] = [];
  for (const kind of KINDS) {
    for (const concurrency of CONCURRENCIES) {
      const sagas = quick ? 10 + concurrency * 2 : concurrency === 1 ? 400 : 3_000;
      speeds.push(await bench.measure(kind, concurrency, sagas));
    }
  }
  const verified = await bench.verification(await bench.ids(quick ? 50 : 1_000));
  await bench.close();
  const imports: ImportTime[] = [];
  for (const entry of ENTRIES) imports.push(await importTime(entry, quick ? 3 : 11));
  return {
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    shapes,
    speeds,
    verifiedEventsPerSecond: verified.eventsPerSecond,
    imports,
    ceilings: raw,
  };
}

function table(report: Report): string {
  const lines = ['saga        at once   sagas/s   p50 ms   p99 ms'];
  for (const speed of report.speeds) {
    lines.push(
      [
        speed.kind.padEnd(11),
        String(speed.concurrency).padStart(7),
        String(speed.perSecond).padStart(9),
        speed.p50Ms.toFixed(1).padStart(8),
        speed.p99Ms.toFixed(1).padStart(8),
      ].join(' '),
    );
  }
  lines.push('', 'saga        tasks  ledger writes  other writes  requests  bytes');
  for (const shape of report.shapes) {
    lines.push(
      [
        shape.kind.padEnd(11),
        String(shape.tasksEntered).padStart(5),
        String(shape.ledgerWrites).padStart(14),
        String(shape.otherWrites).padStart(13),
        String(shape.storeRequests).padStart(9),
        String(shape.bytes).padStart(6),
      ].join(' '),
    );
  }
  lines.push('', 'bundle                                            bytes  import ms');
  for (const { entry, bytes, importMs } of report.imports) {
    lines.push(`${entry.padEnd(48)}${String(bytes).padStart(7)}${String(importMs).padStart(11)}`);
  }
  const { ceilings: raw } = report;
  lines.push(
    '',
    `verified ${report.verifiedEventsPerSecond} events/s; raw SHA-256 ${raw.sha256PerSecond}/s`,
    `bare lmdb: ${raw.lmdbPutsInSequencePerSecond} puts/s in sequence, ${raw.lmdbPutsBy64PerSecond} with 64 writers`,
  );
  return lines.join('\n');
}
