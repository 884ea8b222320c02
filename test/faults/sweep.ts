import type { FaultMode } from '../support/virtual-plane.ts';
import { type Fault, type Ran, run, type Scenario } from './world.ts';

/** What became of all runs of one scenario. */
export interface Swept {
  readonly scenario: string;
  readonly undisturbed: Ran;
  readonly runs: number;
  readonly ends: ReadonlyMap<string, number>;
  /** Runs that broke something, each with its fault: `run(scenario, fault)` repeats it. */
  readonly broken: readonly { readonly fault: Fault; readonly ran: Ran }[];
}

const MODES: readonly FaultMode[] = ['error', 'restart', 'hang'];
const PHASES = ['before', 'after'] as const;

/** Every store call and every partner call of the scenario fails once, before and after its effect, in every mode. */
export async function sweep(scenario: Scenario): Promise<Swept> {
  const undisturbed = await run(scenario);
  const faults: Fault[] = [];
  for (const at of ['store', 'partner'] as const) {
    const calls = at === 'store' ? undisturbed.storeCalls : undisturbed.partnerCalls;
    for (let index = 1; index <= calls; index += 1) {
      for (const phase of PHASES) {
        // A partner that turns a call away, or never answers, has no moment after the effect.
        if (at === 'partner' && phase === 'after' && !undisturbed.answered.has(index)) continue;
        for (const mode of MODES) faults.push({ at, index, phase, mode });
      }
    }
  }
  const ends = new Map<string, number>();
  const broken: { fault: Fault; ran: Ran }[] = [];
  for (const fault of faults) {
    const ran = await run(scenario, fault);
    const end = ran.reason === '' ? ran.end : `${ran.end} (${ran.reason})`;
    ends.set(end, (ends.get(end) ?? 0) + 1);
    if (ran.findings.length > 0 || !ran.struck) broken.push({ fault, ran });
  }
  return { scenario: scenario.name, undisturbed, runs: faults.length, ends, broken };
}

/** One line per scenario. */
export function tableOf(all: readonly Swept[]): string {
  const width = Math.max(...all.map((each) => each.scenario.length));
  const lines = all.map(({ scenario, runs, ends, undisturbed }) => {
    const told = [...ends].sort((left, right) => right[1] - left[1]);
    const text = told.map(([end, count]) => `${end} ${count}`).join(', ');
    return `${scenario.padEnd(width)}  ${String(runs).padStart(4)} runs, undisturbed ${undisturbed.end}: ${text}`;
  });
  const total = all.reduce((sum, each) => sum + each.runs, 0);
  return `${lines.join('\n')}\n${total} runs`;
}
