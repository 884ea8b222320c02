import type { ProblemView } from '../../lambdas/service/wire.ts';
import { Refused } from './client.ts';

/** Where the members of a decision's body come from. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ['planHash', '--plan-hash'],
  ['maxCost', '--max-cost'],
  ['maxCost/costMinor', '--max-cost'],
  ['maxCost/currency', '--currency'],
  ['externalIds', '--external-id'],
  ['machine', '--latest'],
  ...['evidence', 'everything', 'step', 'action', 'answer', 'result'].map(named),
  ...['retry', 'recover', 'approve', 'reject', 'resolve', 'close'].map(named),
]);

function named(flag: string): [string, string] {
  return [flag, `--${flag}`];
}

/** A refused decision, told by the options that were given or left out; other errors as they are. */
export function inFlags(error: unknown): unknown {
  if (!(error instanceof Refused)) return error;
  const { problem } = error;
  // A tool's result has members of its own, which no option names.
  const ours =
    problem.type.endsWith(':decision-invalid') && !problem.detail.startsWith('the result');
  return ours ? new Refused(translated(problem)) : error;
}

function translated(problem: ProblemView): ProblemView {
  const { at, ...rest } = problem;
  const detail = flagged(problem.detail);
  const flag = at === undefined ? undefined : flagged(at);
  return {
    ...rest,
    detail,
    remedy: flagged(problem.remedy),
    ...(flag === undefined || detail.includes(flag) ? {} : { at: flag }),
  };
}

function flagged(text: string): string {
  return text.replaceAll(/"(\w+)"|(?<![\w/])\/(\w+(?:\/\w+)?)/g, (whole, quoted, pointer) => {
    const member = String(quoted ?? pointer);
    return FLAGS.get(member) ?? FLAGS.get(member.replace(/\/.*/, '')) ?? whole;
  });
}
