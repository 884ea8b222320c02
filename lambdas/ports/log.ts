/** Structured lines about what the engine does. Provided by Powertools on Lambda, by the local plane, or silence. */
export interface Log {
  /** A log whose every line also carries `keys` (saga, step, attempt). */
  with(keys: Readonly<Record<string, string | number>>): Log;
  info(message: string, data?: Readonly<Record<string, unknown>>): void;
  warn(message: string, data?: Readonly<Record<string, unknown>>): void;
  error(message: string, data?: Readonly<Record<string, unknown>>): void;
}

export const silentLog: Log = {
  with: () => silentLog,
  info: () => {},
  warn: () => {},
  error: () => {},
};
