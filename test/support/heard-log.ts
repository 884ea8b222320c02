import type { Log } from '../../lambdas/ports/log.ts';

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  /** With the keys of the log that it was written to. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** A log that keeps its lines for a test to read. */
export function heardLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const within = (keys: Readonly<Record<string, unknown>>): Log => {
    const at = (level: LogLine['level']) => (message: string, data?: object) => {
      lines.push({ level, message, data: { ...keys, ...data } });
    };
    return {
      with: (more) => within({ ...keys, ...more }),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
    };
  };
  return { ...within({}), lines };
}
