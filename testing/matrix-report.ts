import type { AnySaga } from '../statemachines/language/saga.ts';
import type { MatrixCell } from './matrix.ts';

/** What each step's failures lead to, then what became of the cases that strike the plane itself. */
export function reportOf(saga: AnySaga, cells: readonly MatrixCell[]): string {
  const lines = [`failure matrix of saga "${saga.name}": ${cells.length} cases`, ''];
  const told = cells.filter((cell) => titleOf(cell) === '');
  if (told.length > 0) {
    const rows = told.map((cell) => [
      cell.group === 'undo' ? `undo of ${cell.step ?? ''}` : (cell.step ?? ''),
      cell.failure,
      endOf(cell),
      standingOf(cell),
    ]);
    lines.push(...table([['STEP', 'FAILURE', 'ENDS', 'STANDING THEN'], ...rows]), '');
  }
  for (const [title, rest] of grouped(cells, titleOf)) {
    if (title === '') continue;
    const rows = [...grouped(rest, ({ failure }) => failure)].map(([failure, of]) => [
      failure,
      String(of.length),
      endsOf(of),
    ]);
    lines.push(...table([[title, 'CASES', 'END'], ...rows]), '');
  }
  const broken = cells.filter((cell) => cell.findings.length > 0);
  const missed = cells.filter((cell) => cell.notReached !== undefined);
  if (missed.length > 0) {
    const rows = [...grouped(missed, ({ notReached = '' }) => notReached)].map(([why, of]) => [
      why,
      of.map((cell) => cell.case).join('; '),
    ]);
    lines.push(...table([['NOT REACHED', 'CASES'], ...rows]), '');
  }
  const survived = cells.filter((cell) => !broken.includes(cell) && !missed.includes(cell));
  const counts = [`${survived.length} of ${cells.length} cases survived`];
  if (missed.length > 0) counts.push(`${missed.length} not reached`);
  lines.push(
    [...counts, broken.length === 0 ? 'nothing broken' : `${broken.length} broken`].join(', '),
  );
  return lines.join('\n');
}

/** What is told of failure by failure has none: it is of this saga's own steps. */
function titleOf({ group }: MatrixCell): string {
  switch (group) {
    case 'failure':
    case 'undo':
      return '';
    case 'question':
      return 'IN DOUBT, AND THE ANSWER TO THE QUESTION';
    case 'outside':
      return 'FROM OUTSIDE';
    case 'crash':
    case 'invocation':
    case 'start':
    case 'lease':
      return 'FAULT OF THE PLANE';
  }
}

function endOf(cell: MatrixCell): string {
  if (cell.notReached !== undefined) return 'not reached';
  const asked = cell.end === 'needs_review' ? cell.reviews : [cell.reason];
  const why = asked.join('') === '' ? '' : ` (${asked.join(', then ')})`;
  const then = cell.finally === cell.end ? '' : `, then ${cell.finally}`;
  return `${cell.end}${why}${then}`;
}

/** What stood when a person was asked, and what the answer made of it. */
function standingOf({ standing, finalStanding: last }: MatrixCell): string {
  const words = Object.entries(standing).map(([step, word]) => `${step} ${word}`);
  const steps = Object.keys({ ...standing, ...last });
  const changed = steps.filter((step) => standing[step] !== last[step]);
  const first = words.length === 0 ? 'nothing' : words.join(', ');
  if (changed.length === 0) return first;
  return `${first}; then ${changed.map((step) => `${step} ${last[step] ?? 'nothing'}`).join(', ')}`;
}

function grouped(
  cells: readonly MatrixCell[],
  by: (cell: MatrixCell) => string,
): Map<string, MatrixCell[]> {
  const groups = new Map<string, MatrixCell[]>();
  for (const cell of cells) groups.set(by(cell), [...(groups.get(by(cell)) ?? []), cell]);
  return groups;
}

function endsOf(cells: readonly MatrixCell[]): string {
  const counts = new Map<string, number>();
  for (const cell of cells) counts.set(endOf(cell), (counts.get(endOf(cell)) ?? 0) + 1);
  const sorted = [...counts].sort((left, right) => right[1] - left[1]);
  return sorted.map(([end, count]) => `${end} ${count}`).join('; ');
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
