import type { AnySaga } from '../statemachines/language/saga.ts';
import { exampleOf, NoExample } from './example.ts';
import {
  type Base,
  cancelCases,
  crashCases,
  FORWARD_ENDS,
  failureCases,
  invocationCases,
  leaseCases,
  type MatrixCase,
  startCases,
  triggerFor,
  triggerOf,
  UNDONE_ENDS,
  undoCases,
} from './matrix-cases.ts';
import { reportOf } from './matrix-report.ts';
import { type End, type Play, type Played, play } from './play.ts';
import { demandOutputs, type ProviderOptions } from './providers.ts';
import type { StoreMoment } from './worker-stores.ts';

export interface MatrixOptions {
  /** The saga's input. Absent: an example made from its schema. */
  readonly input?: unknown;
  /** What a tool answers, by its name, in place of an example made from its output schema. */
  readonly outputs?: ProviderOptions['outputs'];
  /** Plays only the cases whose name holds this text. */
  readonly only?: string;
  /**
   * Strikes a process or a store in the middle of every failure, too: each pair of the two. Many
   * thousands of cases; narrow it with `only`. Default false.
   */
  readonly crossed?: boolean;
}

/** Where one failure ended. */
export interface MatrixCell {
  readonly case: string;
  readonly group: MatrixCase['group'];
  readonly step?: string;
  readonly failure: string;
  /** Where it came to rest by itself. */
  readonly end: End;
  /** Why a person was asked, or why it is an incident. */
  readonly reason: string;
  /** Where it ended once a person had answered. */
  readonly finally: End;
  /** Steps whose effect stood at the first rest, as the standing report calls them. */
  readonly standing: Readonly<Record<string, string>>;
  /** What was found wrong; empty where the failure was survived. */
  readonly findings: readonly string[];
}

export interface FailureMatrix {
  readonly saga: string;
  readonly cells: readonly MatrixCell[];
  /** Cells with findings. */
  readonly broken: readonly MatrixCell[];
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

/**
 * Plays every failure of the saga, one at a time: each step and each undo fails in each way, processes
 * and stores fail at each write and each call, invocations are lost, doubled, delayed and reordered. What
 * runs is the compiled machine over the real handlers, in virtual time, against providers that behave as
 * the tools' contracts say. Each case is held against the ledger's invariants and the providers' books.
 *
 * @throws MatrixBroken naming the cases that broke something
 * @throws NoExample where an input or an output has to be given
 */
export async function failureMatrix(
  saga: AnySaga,
  options: MatrixOptions = {},
): Promise<FailureMatrix> {
  const input = options.input ?? exampleInput(saga);
  demandOutputs([saga], options.outputs);
  const failures = [...failureCases(saga), ...undoCases(saga)];
  const cases = [...failures, ...cancelCases(saga)];
  const bases = [
    await baseOf(saga, input, options, 'forward', undefined, FORWARD_ENDS),
    await undoneBase(saga, input, options),
  ];
  for (const each of bases) {
    cases.push(...crashCases(each), ...invocationCases(each), ...startCases(each));
    cases.push(...leaseCases(each));
  }
  const { only = '', crossed = false } = options;
  if (crossed) {
    for (const each of failures.filter(({ name }) => name.includes(only) || only.includes(name)))
      cases.push(
        ...crashCases(await baseOf(saga, input, options, each.name, triggerOf(each), each)),
      );
  }
  const cells: MatrixCell[] = [];
  for (const each of cases.filter(({ name }) => name.includes(only))) {
    cells.push(cellOf(each, await play(script(saga, input, options, each.play))));
  }
  const broken = cells.filter((cell) => cell.findings.length > 0);
  const matrix = { saga: saga.name, cells, broken, report: () => reportOf(saga, cells) };
  if (broken.length > 0) throw new MatrixBroken(matrix);
  return matrix;
}

function exampleInput(saga: AnySaga): unknown {
  try {
    return exampleOf(saga.input, 'the input', { number: 1 });
  } catch (error) {
    if (!(error instanceof NoExample)) throw error;
    throw new NoExample(`${error.message}: give one, as failureMatrix(saga, { input })`);
  }
}

function script(saga: AnySaga, input: unknown, options: MatrixOptions, part: Partial<Play>): Play {
  const outputs = options.outputs === undefined ? {} : { outputs: options.outputs };
  return { saga, input, ...part, providers: { ...outputs, ...part.providers } };
}

/** The saga is undone from its last step on: as much of it as can be. */
function undoneBase(saga: AnySaga, input: unknown, options: MatrixOptions): Promise<Base> {
  const first = saga.steps[0]?.name ?? '';
  const { mayRest, mayEnd } = UNDONE_ENDS;
  // A single step is undone because its answer is unusable: where that answer is lost, all is well.
  const ends =
    saga.steps.length > 1
      ? UNDONE_ENDS
      : { mayRest: [...mayRest, 'completed' as const], mayEnd: [...mayEnd, 'completed' as const] };
  return baseOf(saga, input, options, 'undone', triggerFor(saga, first), ends);
}

/** Runs that nothing but the plane's own faults disturb end as they would without. */
const STEADY: readonly (readonly End[])[] = [FORWARD_ENDS.mayRest, UNDONE_ENDS.mayRest];

/** Runs the saga undisturbed, and notes where faults can strike. */
async function baseOf(
  saga: AnySaga,
  input: unknown,
  options: MatrixOptions,
  name: string,
  trigger: ProviderOptions['mishap'],
  { mayRest, mayEnd }: Pick<MatrixCase, 'mayRest' | 'mayEnd'>,
): Promise<Base> {
  const storeWrites: { index: number; what: string }[] = [];
  const claims: { index: number; step: string }[] = [];
  let current: StoreMoment | undefined;
  let over = false;
  const ran = await play(
    script(saga, input, options, {
      ...(trigger === undefined ? {} : { trigger }),
      faults: {
        store: (moment) => {
          current = moment;
          if (moment.phase === 'before' && moment.writes && !over)
            storeWrites.push({ index: moment.index, what: `${moment.store} ${moment.operation}` });
          return undefined;
        },
      },
      appended: (event) => {
        if (event.type === 'step_claimed' && current !== undefined)
          claims.push({ index: current.index, step: `${event.step}/${event.action}` });
        over = event.drive === 'ended';
      },
    }),
  );
  if (trigger === undefined && ran.finally !== 'completed') {
    throw new Error(
      `saga "${saga.name}" ends as ${ran.finally} where nothing fails: ${ran.findings.join('; ')}`,
    );
  }
  // Any fault may take until after the deadline, and what is overdue is undone.
  const overdue = saga.plan.deadlineMs === undefined ? [] : UNDONE_ENDS.mayEnd;
  return {
    name,
    trigger,
    storeWrites,
    claims,
    providerCalls: ran.counts.provider,
    invocations: ran.counts.invocation,
    starts: ran.counts.start,
    mayRest: [...mayRest, ...overdue],
    mayEnd: [...mayEnd, ...overdue],
    ...(overdue.length === 0 && STEADY.includes(mayRest) ? { steady: ran.end } : {}),
  };
}

function cellOf(of: MatrixCase, ran: Played): MatrixCell {
  const findings = [...ran.findings];
  if (!of.mayRest.includes(ran.end)) {
    findings.push(`end: it may end as ${of.mayRest.join(' or ')}, and is ${ran.end}`);
  } else if (!of.mayEnd.includes(ran.finally)) {
    findings.push(
      `end: a person could bring it to ${of.mayEnd.join(' or ')}, and it is ${ran.finally}`,
    );
  }
  const standing = (ran.standing?.steps ?? [])
    .filter(({ standing: word }) => word !== 'nothing')
    .map(({ step, standing: word }) => [step, word] as const);
  return {
    case: of.name,
    group: of.group,
    ...(of.step === undefined ? {} : { step: of.step }),
    failure: of.failure,
    end: ran.end,
    reason: ran.reason,
    finally: ran.finally,
    standing: Object.fromEntries(standing),
    findings,
  };
}
