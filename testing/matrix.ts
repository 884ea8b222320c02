import type { AnySaga } from '../statemachines/language/saga.ts';
import type { StandingReport } from '../statemachines/rules/standing.ts';
import { exampleOf, NoExample } from './example.ts';
import { failedBase, plainBases, type Run } from './matrix-base.ts';
import { cancelCases } from './matrix-cancels.ts';
import { type Group, type MatrixCase, type Part, partOf } from './matrix-case.ts';
import { failureCases, questionCases, undoable, undoCases } from './matrix-cases.ts';
import { faultCases } from './matrix-faults.ts';
import { demandInput } from './matrix-first.ts';
import { pairCases } from './matrix-pairs.ts';
import { reportOf } from './matrix-report.ts';
import { Triggers } from './matrix-triggers.ts';
import { type End, type Play, type Played, play } from './play.ts';
import { demandOutputs, type ProviderOptions } from './providers.ts';

export interface MatrixOptions {
  /** The saga's input. Absent: an example made from its schema. */
  readonly input?: unknown;
  /** What a tool answers, by its name, in place of an example made from its output schema. */
  readonly outputs?: ProviderOptions['outputs'];
  /** Plays only the cases whose name holds this text. */
  readonly only?: string;
  /**
   * Two at a time, too: each failure with each fault of the plane in the middle of it, with each cancel,
   * and with each other failure. Many thousands of cases; narrow it with `only`. Default false.
   */
  readonly crossed?: boolean;
}

/** Where one failure ended. */
export interface MatrixCell {
  readonly case: string;
  readonly group: Group;
  readonly step?: string;
  readonly failure: string;
  /** Where it came to rest by itself. */
  readonly end: End;
  /** Why a person was asked, or why it is an incident. */
  readonly reason: string;
  /** Why a person was asked, each time until the end. */
  readonly reviews: readonly string[];
  /** Where it ended once a person had answered. */
  readonly finally: End;
  /** Steps whose effect stood at the first rest, as the standing report calls them. */
  readonly standing: Readonly<Record<string, string>>;
  /** The same once a person had answered; equal where nobody was asked. */
  readonly finalStanding: Readonly<Record<string, string>>;
  /** What was found wrong; empty where the failure was survived. */
  readonly findings: readonly string[];
  /** Why the failure never struck. Absent: it did, and the cell says what became of it. */
  readonly notReached?: string;
}

export interface FailureMatrix {
  readonly saga: string;
  readonly cells: readonly MatrixCell[];
  /** Cells with findings. */
  readonly broken: readonly MatrixCell[];
  /** Cells whose failure never struck: they show nothing. */
  readonly notReached: readonly MatrixCell[];
  /** A table of where each failure ends, for a person to read. */
  report(): string;
}

/** Thrown where a saga does not survive its failure matrix. */
export class MatrixBroken extends Error {
  override readonly name = 'Counterstep.MatrixBroken';
  readonly matrix: FailureMatrix;
  constructor(matrix: FailureMatrix) {
    const { broken, cells, saga } = matrix;
    const shown = broken
      .slice(0, 20)
      .map((cell) => `- ${cell.case}\n    ${cell.findings.join('\n    ')}`);
    const more = broken.length > shown.length ? [`- and ${broken.length - shown.length} more`] : [];
    const replay = `replay one with failureMatrix(saga, { only: ${JSON.stringify(broken[0]?.case ?? '')} })`;
    super(
      `saga "${saga}" breaks in ${broken.length} of ${cells.length} cases:\n${[...shown, ...more].join('\n')}\n${replay}`,
    );
    this.matrix = matrix;
  }
}

/** Thrown where no case of a matrix is called what `only` asks for. */
export class NoSuchCase extends Error {
  override readonly name = 'Counterstep.NoSuchCase';
  constructor(saga: string, only: string, cases: readonly { readonly name: string }[]) {
    const names = cases.slice(0, 5).map(({ name }) => JSON.stringify(name));
    super(
      `none of the ${cases.length} cases of saga "${saga}" has ${JSON.stringify(only)} in its name; they are called ${names.join(', ')} and so on`,
    );
  }
}

/**
 * Plays every failure of the saga, one at a time: each step and each undo fails in each way, questions
 * about them are answered in each way, it is cancelled at each stage, processes and stores fail at each
 * write and each call, invocations are lost, doubled, delayed and reordered. What runs is the compiled
 * machine over the real handlers, in virtual time, against providers that behave as the tools' contracts
 * say. Each case is held against the ledger's invariants and the providers' books.
 *
 * @throws MatrixBroken naming the cases that broke something
 * @throws NoExample where an input or an output has to be given
 * @throws NoSuchCase where `only` chooses nothing
 * @throws Error where the saga does not complete, or could not be undone, although nothing fails
 */
export async function failureMatrix(
  saga: AnySaga,
  options: MatrixOptions = {},
): Promise<FailureMatrix> {
  const input = options.input ?? exampleInput(saga);
  demandInput(saga, input);
  demandOutputs([saga], options.outputs);
  const { only = '', crossed = false } = options;
  const run: Run = (part) => play(script(saga, input, options, part));
  const cells: MatrixCell[] = [];
  for (const each of await casesOf(saga, run, only, crossed)) {
    const struck = new Set<number>();
    cells.push(cellOf(each, await run(partOf(each, struck)), struck.size));
  }
  const broken = cells.filter((cell) => cell.findings.length > 0);
  const notReached = cells.filter((cell) => cell.notReached !== undefined);
  const matrix = {
    saga: saga.name,
    cells,
    broken,
    notReached,
    report: () => reportOf(saga, cells),
  };
  if (broken.length > 0) throw new MatrixBroken(matrix);
  return matrix;
}

async function casesOf(
  saga: AnySaga,
  run: Run,
  only: string,
  crossed: boolean,
): Promise<readonly MatrixCase[]> {
  const triggers = new Triggers(saga, run);
  const bases = await plainBases(saga, run, triggers);
  const undoables = await undoable(saga, triggers);
  const failures = [...failureCases(saga), ...undoCases(undoables)];
  const cancels = cancelCases(saga, undoables, bases);
  const cases = [...failures, ...questionCases(saga, undoables), ...cancels];
  for (const base of bases) cases.push(...faultCases(base));
  if (crossed) {
    const paired = failures.filter(({ alone }) => alone !== true);
    // What is cancelled at its start has no other failure.
    cases.push(...pairCases(saga, paired, cancels.slice(1)));
    for (const each of paired.filter(({ name }) => name.includes(only) || only.includes(name)))
      cases.push(...faultCases(await failedBase(saga, run, each)));
  }
  const chosen = cases.filter(({ name }) => name.includes(only));
  if (chosen.length === 0) throw new NoSuchCase(saga.name, only, cases);
  return chosen;
}

function exampleInput(saga: AnySaga): unknown {
  try {
    return exampleOf(saga.input, 'the input', { number: 1 });
  } catch (error) {
    if (!(error instanceof NoExample)) throw error;
    throw new NoExample(`${error.message}: give one, as failureMatrix(saga, { input })`);
  }
}

function script(saga: AnySaga, input: unknown, options: MatrixOptions, part: Part): Play {
  const { mishap, question, latencyMs, ...beside } = part;
  return {
    saga,
    input,
    ...beside,
    providers: {
      ...(options.outputs === undefined ? {} : { outputs: options.outputs }),
      ...(mishap === undefined ? {} : { mishap }),
      ...(question === undefined ? {} : { questionMishap: question }),
      ...(latencyMs === undefined ? {} : { latencyMs: () => latencyMs }),
    },
  };
}

function cellOf(of: MatrixCase, ran: Played, struck: number): MatrixCell {
  const findings = [...ran.findings, ...(of.demand?.(ran) ?? [])];
  if (!of.mayRest.includes(ran.end)) {
    findings.push(`end: it may end as ${of.mayRest.join(' or ')}, and is ${ran.end}`);
  } else if (!of.mayEnd.includes(ran.finally)) {
    findings.push(
      `end: a person could bring it to ${of.mayEnd.join(' or ')}, and it is ${ran.finally}`,
    );
  }
  const missed = of.strikes.length - struck;
  return {
    case: of.name,
    group: of.group,
    ...(of.step === undefined ? {} : { step: of.step }),
    failure: of.failure,
    end: ran.end,
    reason: ran.reason,
    reviews: ran.reviews,
    finally: ran.finally,
    standing: wordsOf(ran.standing),
    finalStanding: wordsOf(ran.finalStanding),
    findings,
    ...(missed === 0 ? {} : { notReached: of.unreachable ?? 'the saga never came to it' }),
  };
}

function wordsOf(report: StandingReport | undefined): Record<string, string> {
  const stood = (report?.steps ?? []).filter(({ standing }) => standing !== 'nothing');
  return Object.fromEntries(stood.map(({ step, standing }) => [step, standing]));
}
