import type { Clock } from '../ports/clock.ts';

export type Ran =
  | { readonly kind: 'answered'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** The call was aborted. `late` still resolves if it finishes after all. */
  | { readonly kind: 'timeout'; readonly late: Promise<unknown> };

/** Runs one call until its hard deadline, whether or not it minds its signal. */
export async function runUntil(
  clock: Clock,
  deadlineAt: number,
  call: (signal: AbortSignal) => unknown,
): Promise<Ran> {
  const controller = new AbortController();
  let stop: () => void = () => {};
  const timeout = new Promise<'timeout'>((resolve) => {
    stop = clock.timer(Math.max(0, deadlineAt - clock.now()), () => resolve('timeout'));
  });
  const work = Promise.resolve().then(() => call(controller.signal));
  const settled = work.then(
    (value): Ran => ({ kind: 'answered', value }),
    (error: unknown): Ran => ({ kind: 'threw', error }),
  );
  try {
    const first = await Promise.race([settled, timeout]);
    if (first !== 'timeout') return first;
    controller.abort(new DOMException('the attempt is over its deadline', 'TimeoutError'));
    return { kind: 'timeout', late: work };
  } finally {
    stop();
  }
}
