import type { AnySaga } from '../statemachines/language/saga.ts';
import type { MatrixCell } from './matrix.ts';

/** What each step's failures lead to, then what became of the cases that strike the plane itself. */
export function reportOf(saga: AnySaga, cells: readonly MatrixCell[]): string {
  const lines = [`failure matrix of saga "${saga.name}": ${cells.length} cases`, ''];
  const told = cells.filter((cell) => cell.group === 'failure' || cell.group === 'undo');
  if (told.length > 0) {
    const rows = told.map((cell) => [
      cell.group === 'undo' ? `undo of ${cell.step ?? ''}` : (cell.step ?? ''),
      cell.failure,
      endOf(cell),
      standingOf(cell),
    ]);
    lines.push(...table([['STEP', 'FAILURE', 'ENDS', 'STANDING THEN'], ...rows]), '');
  }
  const rest = cells.filter((cell) => !told.includes(cell));
  if (rest.length > 0) {
    const rows = [...grouped(rest)].map(([failure, of]) => [
      failure,
      String(of.length),
      endsOf(of),
    ]);
    lines.push(...table([['FAULT OF THE PLANE', 'CASES', 'END'], ...rows]), '');
  }
  const broken = cells.filter((cell) => cell.findings.length > 0);
  lines.push(broken.length === 0 ? 'nothing broken' : `${broken.length} cases broken`);
  return lines.join('\n');
}

function endOf(cell: MatrixCell): string {
  const why = cell.reason === '' ? '' : ` (${cell.reason})`;
  const then = cell.finally === cell.end ? '' : `, then ${cell.finally}`;
  return `${cell.end}${why}${then}`;
}

function standingOf(cell: MatrixCell): string {
  const words = Object.entries(cell.standing).map(([step, word]) => `${step} ${word}`);
  return words.length === 0 ? 'nothing' : words.join(', ');
}

function grouped(cells: readonly MatrixCell[]): Map<string, MatrixCell[]> {
  const groups = new Map<string, MatrixCell[]>();
  for (const cell of cells) {
    const group = groups.get(cell.failure) ?? [];
    group.push(cell);
    groups.set(cell.failure, group);
  }
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
