/**
 * Names what was thrown, and where, as may stand in a ledger: `TypeError (tools.ts:41:12)`. Its text may
 * hold anything a provider or a caller sent, and so may its name and its stack, once somebody set them:
 * only what looks like a name and like a line of code is read. Never throws itself.
 */
export function thrown(error: unknown): string {
  try {
    const name = nameOf(error);
    const place = error instanceof Error ? placeIn(error.stack, error.message) : undefined;
    return place === undefined ? name : `${name} (${place})`;
  } catch {
    return UNREADABLE;
  }
}

/** The same without the place, for whoever has no business in the code. */
export function nameOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return `a thrown ${typeof error}`;
    const { name }: { readonly name: unknown } = error;
    return typeof name === 'string' && NAME.test(name) ? name : 'Error';
  } catch {
    return UNREADABLE;
  }
}

const UNREADABLE = 'a thrown object';

const NAME = /^[A-Za-z_$][\w.$]{0,79}$/;
/** `at read (/srv/tools.ts:41:12)`, `at async file:///srv/tools.ts:41:12`, `at Promise.all (index 0)`. */
const FRAME = /^ {4}at (?:.*\()?([^()]*?)(?::(\d{1,7}):(\d{1,7}))?\)?$/;
const CODE = /^[\w.@+[\]-]{1,80}\.[cm]?[jt]sx?$/;

/** The first line of somebody's own code: neither of the platform nor of a package. */
function placeIn(stack: unknown, message: unknown): string | undefined {
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined;
  // The text comes first, and may look like frames: where it was changed afterwards, nothing is read.
  const header = /^[\w.$]*(?: \[\w+\])?/.exec(stack)?.[0] ?? '';
  const texts = message === '' ? [`${header}\n`, `${header}: \n`] : [`${header}: ${message}\n`];
  const text = texts.find((each) => stack.startsWith(each));
  if (text === undefined) return undefined;
  for (const line of stack.slice(text.length).split('\n')) {
    const [frame, file = '', row, column] = FRAME.exec(line) ?? [];
    if (frame === undefined) return undefined;
    if (row === undefined || /[/\\]node_modules[/\\]/.test(file)) continue;
    const base = file.split(/[/\\]/).at(-1) ?? '';
    if (!file.startsWith('node:') && CODE.test(base)) return `${base}:${row}:${column}`;
  }
  return undefined;
}
