import { styleText } from 'node:util';

/** Where a command writes. */
export interface Output {
  /** JSON for programs, tables for people. */
  readonly json: boolean;
  /** For what belongs beside the answer: hints, keys, progress. */
  note(line: string): void;
  write(text: string): void;
  /** Prints `value` as JSON, or what `forPeople` makes of it. */
  show<T>(value: T, forPeople: (value: T) => string): void;
  /** A saga's state, coloured where the terminal can. */
  state(text: string): string;
}

export interface OutputOptions {
  readonly json?: boolean | undefined;
  readonly table?: boolean | undefined;
}

export function openOutput(options: OutputOptions): Output {
  const { stdout, stderr, env } = process;
  const json = options.table === true ? false : (options.json ?? stdout.isTTY !== true);
  const colours = stdout.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  return {
    json,
    note: (line) => {
      stderr.write(`${clean(line)}\n`);
    },
    write: (text) => {
      stdout.write(text);
    },
    show: (value, forPeople) => {
      stdout.write(json ? `${JSON.stringify(value, undefined, 2)}\n` : `${forPeople(value)}\n`);
    },
    state: (text) => (colours ? styleText(colourOf(text), text) : text),
  };
}

function colourOf(state: string): 'green' | 'yellow' | 'red' | 'cyan' {
  if (state === 'completed' || state === 'done' || state === 'valid') return 'green';
  if (state === 'incident' || state.startsWith('failed') || state === 'invalid') return 'red';
  if (state === 'compensated' || state === 'needs_review' || state === 'in_doubt') return 'yellow';
  return 'cyan';
}

/** Text from elsewhere must not move the cursor or change colours. */
export function clean(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ');
}

/** `2025-01-31 12:00:05Z`: what a person compares; the JSON has the milliseconds. */
export function shortTime(time: string | undefined): string {
  return time === undefined ? '' : `${time.slice(0, 10)} ${time.slice(11, 19)}Z`;
}

/** Columns as wide as their widest cell, two blanks apart. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [titles, ...rows].map((row) => row.map(clean));
  const widths = titles.map((_, column) =>
    Math.max(...lines.map((row) => widthOf(row[column] ?? ''))),
  );
  return lines
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Label and value, one pair a line; pairs without a value are left out. */
export function pairs(entries: readonly (readonly [string, string | undefined])[]): string {
  const shown = entries.filter((entry): entry is [string, string] => entry[1] !== undefined);
  const width = Math.max(...shown.map(([label]) => label.length));
  return shown.map(([label, value]) => `${label.padEnd(width)}  ${clean(value)}`).join('\n');
}

function widthOf(text: string): number {
  let width = 0;
  for (const _ of new Intl.Segmenter().segment(text)) width += 1;
  return width;
}
