/** Time, injected so that any failure can be replayed. Provided by the host (system clock) or a simulation. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, or early when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `fn` after `ms`; the answer cancels it. */
  timer(ms: number, fn: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const done = (): void => {
        clearTimeout(timeout);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timeout = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
  timer: (ms, fn) => {
    const timeout = setTimeout(fn, ms);
    return () => clearTimeout(timeout);
  },
};
