import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { tell } from 'counterstep/testing';
import { optionsOf, playShare, replayOf, type ShareResult, WORLD_SIZE } from './simulate/share.ts';

/**
 * Simulates many worlds on all cores, and ends with 1 if any of them breaks an invariant.
 * `npm run simulate -- --seeds 1000`, or `--sagas 1000000` for as many seeds as that takes; `--seed 7`
 * begins there; `--only 7` replays one seed and tells its story. `--count` sagas a world of the definitions
 * written by hand and `--shapes` others are part of what a seed means.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    sagas: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
    count: { type: 'string', default: String(WORLD_SIZE.count) },
    shapes: { type: 'string', default: String(WORLD_SIZE.shapes) },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
});

/** Seeds a process is sent at once. */
const SHARE = 25;
const size = { count: whole('count', values.count), shapes: whole('shapes', values.shapes) };
const SAY_EVERY_MS = 10_000;

if (values.only !== undefined) await replay(whole('only', values.only));
else await run();

async function replay(seed: number): Promise<void> {
  const { broken } = await playShare({ from: seed, seeds: 1 }, optionsOf(size));
  for (const { findings } of broken) say(findings.join('\n'));
  say(await tell(optionsOf(size), seed));
  process.exitCode = broken.length === 0 ? 0 : 1;
}

async function run(): Promise<void> {
  const began = performance.now();
  const from = values.seed === undefined ? randomSeed() : whole('seed', values.seed);
  const seeds =
    values.sagas === undefined
      ? whole('seeds', values.seeds)
      : Math.ceil(whole('sagas', values.sagas) / size.count);
  say(`seeds ${from} to ${from + seeds - 1}`);
  const total = { seeds: 0, sagas: 0, events: 0, ends: new Map<string, number>() };
  const broken: ShareResult['broken'][number][] = [];
  let said = began;
  await share(from, seeds, (result) => {
    total.seeds += result.seeds;
    total.sagas += result.sagas;
    total.events += result.events;
    for (const [end, count] of Object.entries(result.ends))
      total.ends.set(end, (total.ends.get(end) ?? 0) + count);
    broken.push(...result.broken);
    for (const { seed, findings } of result.broken) say(`seed ${seed}: ${findings.join('; ')}`);
    if (performance.now() - said < SAY_EVERY_MS) return;
    said = performance.now();
    say(`${total.seeds} of ${seeds} seeds, ${total.sagas} sagas, ${seconds(began)} s`);
  });
  const ends = [...total.ends].map(([end, count]) => `${end} ${count}`).join(', ');
  say(`${total.sagas} sagas in ${total.seeds} seeds from ${from}, ${total.events} events`);
  say(`ends: ${ends}`);
  say(`wall time ${seconds(began)} s, findings in ${broken.length} seeds`);
  const first = broken.sort((left, right) => left.seed - right.seed)[0];
  if (first === undefined) return;
  say(`replay with ${replayOf(first.seed, size)}\n${await tell(optionsOf(size), first.seed)}`);
  process.exitCode = 1;
}

/** Each process gets its next share when it has answered the last one. */
async function share(
  from: number,
  seeds: number,
  done: (result: ShareResult) => void,
): Promise<void> {
  let next = from;
  const end = from + seeds;
  const give = (worker: ChildProcess): boolean => {
    if (next >= end) return false;
    const size = Math.min(SHARE, end - next);
    worker.send({ from: next, seeds: size });
    next += size;
    return true;
  };
  const processes = Math.min(whole('processes', values.processes), Math.ceil(seeds / SHARE));
  const workers = Array.from({ length: processes }, () => {
    // Worlds are short-lived: with room for the young, hardly anything is collected twice.
    const execArgv = [...process.execArgv, '--max-semi-space-size=64'];
    const sizes = [String(size.count), String(size.shapes)];
    const worker = fork(join(import.meta.dirname, 'simulate/worker.ts'), sizes, { execArgv });
    return new Promise<void>((resolve, reject) => {
      let finished = false;
      worker.on('message', (result: ShareResult) => {
        done(result);
        finished = !give(worker);
        if (finished) worker.disconnect();
      });
      worker.on('exit', (code) => {
        if (finished) resolve();
        else reject(new Error(`a process ended with ${code} in the middle of its seeds`));
      });
      give(worker);
    });
  });
  await Promise.all(workers);
}

function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

function whole(name: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new Error(`--${name} takes a whole number, not "${text}"`);
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
