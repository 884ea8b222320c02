import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import { ledgerKey } from '../lambdas/ports/ledger-store.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';
import type { EffectFact } from './checker/records.ts';
import type { OutboxFigures, Projected, Told } from './outbox.ts';
import { sagaName } from './strikes.ts';

/** What became of one saga of a world. */
export interface Outcome {
  /** Its place in the plan. */
  readonly index: number;
  readonly id: LedgerId;
  readonly end: string;
  readonly findings: readonly string[];
  readonly events: readonly SagaEvent[];
  readonly effects: readonly EffectFact[];
  /** What became of its records, where the outbox ran beside. */
  readonly outbox?: readonly Told[];
}

export interface WorldResult {
  readonly outcomes: readonly Outcome[];
  /** What is wrong with the world as a whole. */
  readonly findings: readonly string[];
  /** Everything that is wrong, in its sagas and as a whole. */
  readonly broken: readonly string[];
  readonly events: number;
  /** From the first start to the last rest, in virtual milliseconds. */
  readonly tookMs: number;
  /** Absent where no outbox ran beside. */
  readonly outbox?: OutboxFigures;
}

/** What is wrong with each saga, and with the world as a whole. */
export function all(outcomes: readonly Outcome[], findings: readonly string[]): string[] {
  const own = outcomes.flatMap((each) =>
    each.findings.map((one) => `${one} (${sagaName(each.index)})`),
  );
  return [...own, ...findings];
}

/** The world, and what the outbox made of it. */
export function beside(judged: WorldResult, projected: Projected): WorldResult {
  const outcomes = judged.outcomes.map((outcome): Outcome => {
    const key = ledgerKey(outcome.id);
    const findings = [...outcome.findings, ...(projected.findings.get(key) ?? [])];
    return { ...outcome, findings, outbox: projected.told.get(key) ?? [] };
  });
  const findings = [...judged.findings, ...projected.strays];
  const { figures } = projected;
  return { ...judged, outcomes, findings, broken: all(outcomes, findings), outbox: figures };
}
