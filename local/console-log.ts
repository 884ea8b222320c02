import type { Log } from '../lambdas/ports/log.ts';

/** One JSON object a line, for people who pipe a laptop's log into the same tools as a Lambda's. */
export function lineLog(
  write: (line: string) => void,
  now: () => number,
  keys: Readonly<Record<string, string | number>> = {},
): Log {
  const line =
    (level: string) =>
    (message: string, data: Readonly<Record<string, unknown>> = {}): void => {
      const time = new Date(now()).toISOString();
      write(JSON.stringify({ time, level, message, ...keys, ...data }));
    };
  return {
    with: (more) => lineLog(write, now, { ...keys, ...more }),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
  };
}
