import { RERUN, type WorldPlan } from './strikes.ts';

/** Worlds played in search of a shorter story. */
const MOST_PLAYS = 400;

export interface Shrunk {
  readonly plan: WorldPlan;
  readonly findings: readonly string[];
}

/**
 * Leaves out strikes and sagas, many at once and then one by one, as long as the same invariant is still
 * broken without them.
 */
export async function shrink(
  plan: WorldPlan,
  findingsOf: (plan: WorldPlan) => Promise<readonly string[]>,
): Promise<Shrunk> {
  let best: Shrunk = { plan, findings: await findingsOf(plan) };
  const wanted = new Set(best.findings.map(invariantOf));
  let left = MOST_PLAYS;
  const better = async (candidate: WorldPlan): Promise<boolean> => {
    if (left === 0) return false;
    left -= 1;
    const findings = await findingsOf(candidate);
    if (!findings.some((each) => wanted.has(invariantOf(each)))) return false;
    best = { plan: candidate, findings };
    return true;
  };
  for (let size = -1; size !== best.plan.strikes.length && left > 0; ) {
    size = best.plan.strikes.length;
    await withoutSagas(() => best.plan, better);
    await withoutStrikes(() => best.plan, better);
  }
  return best;
}

type Better = (candidate: WorldPlan) => Promise<boolean>;

async function withoutStrikes(current: () => WorldPlan, better: Better): Promise<void> {
  for (
    let chunk = Math.ceil(current().strikes.length / 2);
    chunk >= 1;
    chunk = Math.floor(chunk / 2)
  ) {
    for (let at = 0; at < current().strikes.length; ) {
      const plan = current();
      const strikes = [...plan.strikes.slice(0, at), ...plan.strikes.slice(at + chunk)];
      if (!(await better({ ...plan, strikes }))) at += chunk;
    }
  }
}

async function withoutSagas(current: () => WorldPlan, better: Better): Promise<void> {
  for (let at = 0; at < current().started.length; at += 1) {
    const plan = current();
    if (plan.started[at] === undefined) continue;
    const started = plan.started.map((each, index) => (index === at ? undefined : each));
    const strikes = plan.strikes.filter((each) => !('saga' in each) || each.saga % RERUN !== at);
    if (started.some((each) => each !== undefined)) await better({ ...plan, started, strikes });
  }
}

function invariantOf(finding: string): string {
  return finding.slice(0, finding.indexOf(':'));
}
