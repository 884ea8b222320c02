/**
 * Names what was thrown, and where, as may stand in a ledger: `TypeError (tools.ts:41:12)`. Its text may
 * hold anything a provider or a caller sent, so it is left out; so are the folders of the machine.
 */
export function thrown(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const place = placeOf(error);
  return place === undefined ? error.name : `${error.name} (${place})`;
}

/** `at read (/srv/tools.ts:41:12)`, `at file:///srv/tools.ts:41:12`. */
const FRAME = /^\s*at (?:.*\()?([^()]+):(\d+):(\d+)\)?$/;

/** The first line of somebody's own code: neither of the platform nor of a package. */
function placeOf({ stack, message }: Error): string | undefined {
  if (typeof stack !== 'string') return undefined;
  // A message may look like a frame; where it cannot be told from one, nothing is read.
  const start = stack.indexOf(message);
  if (start < 0) return undefined;
  for (const line of stack.slice(start + message.length).split('\n')) {
    const [, file = '', row, column] = FRAME.exec(line) ?? [];
    if (file === '' || file.startsWith('node:') || file.includes('/node_modules/')) continue;
    return `${file.split(/[/\\]/).at(-1)}:${row}:${column}`;
  }
  return undefined;
}
