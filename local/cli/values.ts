import { readFileSync } from 'node:fs';
import { CliError } from './cli-error.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `500ms`, `30s`, `5m`, `2h`; a bare number is seconds. @returns milliseconds */
export function durationMs(text: string, option: string): number {
  const match = /^(\d{1,9})(ms|s|m|h)?$/.exec(text);
  if (match === null) throw new CliError(`${option} is no duration`, 'use 500ms, 30s, 5m or 2h');
  return Number(match[1]) * (UNITS[match[2] ?? 's'] ?? 1_000);
}

export function wholeNumber(text: string, option: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new CliError(`${option} is no whole number`, 'use digits only');
}

/** `name=value`, for options that may be repeated. */
export function pair(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1)
    throw new CliError(
      '--external-id is not NAME=VALUE',
      'use for example --external-id creditNote=CN-17',
    );
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** The bytes of a file, or of standard input for `-`, exactly as they are. */
export function readBytes(path: string): Buffer {
  try {
    return readFileSync(path === '-' ? 0 : path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const what = path === '-' ? 'standard input' : path;
    throw new CliError(
      `${what} cannot be read (${code})`,
      'name a file that exists, or - for standard input',
      error,
    );
  }
}
