import type { IJsonProblem } from './ijson-error.ts';

export interface NumberFault {
  readonly problem: IJsonProblem;
  readonly explanation: string;
}

/**
 * Why a number may not enter the ledger, or `undefined` where it may.
 *
 * The rule: a number enters if its decimal value survives text → double → text, so that every
 * reader sees the same digits.
 * - Refused: overflow to infinity, underflow of a non-zero value to 0, digits a double drops.
 * - Accepted: `0.1`, `1.0`, `1e-7`, `5e-324` (the shortest text of the double has the same value).
 * - Integers: exact up to 2^53 − 1. Up to 1e21 the ECMAScript form spells larger ones out digit by
 *   digit, as if each digit counted, and neighbours share one double: refused, however they are
 *   written (`9007199254740993.0`, `1e17`). From 1e21 on the form has an exponent; such a value
 *   enters if the double is exactly it (`1e21`, but not `1.23e40`).
 *
 * @param token the number as written (JSON grammar)
 * @param value `Number(token)`
 */
export function numberFault(token: string, value: number): NumberFault | undefined {
  const shown = token.length > 40 ? `${token.slice(0, 39)}…` : token;
  if (!Number.isFinite(value)) {
    return { problem: 'number_overflow', explanation: `${shown} is beyond the largest double` };
  }
  // Up to 15 significant digits without an exponent always survive.
  if (token.length <= 15 && !token.includes('e') && !token.includes('E')) return undefined;
  const written = decimalOf(token);
  if (value === 0) {
    if (written.digits === '') return undefined;
    return { problem: 'number_underflow', explanation: `${shown} would be read as 0` };
  }
  const kept = decimalOf(String(value));
  if (written.digits !== kept.digits || written.exponent !== kept.exponent) {
    const problem = isUnsafe(value) ? 'unsafe_integer' : 'number_inexact';
    return { problem, explanation: `${shown} would be read as ${String(value)}` };
  }
  if (isUnsafe(value) && !isExactlyWritten(value, kept)) {
    return {
      problem: 'unsafe_integer',
      explanation: `${shown} is an integer beyond 2^53 - 1, where doubles leave gaps`,
    };
  }
  return undefined;
}

function isUnsafe(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

function isExactlyWritten(value: number, decimal: Decimal): boolean {
  const size = Math.abs(value);
  return size >= 1e21 && BigInt(size) === BigInt(decimal.digits) * 10n ** BigInt(decimal.exponent);
}

/** `digits` × 10^`exponent`, sign left out; no zeros at either end, so zero has no digits at all. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

function decimalOf(token: string): Decimal {
  const unsigned = token.startsWith('-') ? token.slice(1) : token;
  const mark = unsigned.search(/e/i);
  const mantissa = mark < 0 ? unsigned : unsigned.slice(0, mark);
  const written = mark < 0 ? 0 : Number(unsigned.slice(mark + 1));
  const point = mantissa.indexOf('.');
  const all = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  const fraction = point < 0 ? 0 : mantissa.length - point - 1;
  let end = all.length;
  while (end > 0 && all[end - 1] === '0') end--;
  let start = 0;
  while (start < end && all[start] === '0') start++;
  return { digits: all.slice(start, end), exponent: written - fraction + (all.length - end) };
}
