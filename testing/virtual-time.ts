import type { Clock } from '../lambdas/ports/clock.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly owner: VirtualProcess | undefined;
  readonly fn: () => void;
  cancelled: boolean;
}

const realSetTimeout = globalThis.setTimeout;
const realClearTimeout = globalThis.clearTimeout;
const realImmediate = globalThis.setImmediate;
const realRandom = Math.random;

/**
 * Time that stands still until nothing can run any more, then jumps to the next timer. In-memory
 * stores answer in microtasks, so one turn of the event loop drains everything that is runnable.
 *
 * While {@link VirtualTime.use} is in force, `setTimeout` and `Math.random` of the process are virtual
 * too: the in-process interpreter of the states language takes its timeouts and pauses from them.
 */
export class VirtualTime {
  #now: number;
  #order = 0;
  readonly #timers = new Heap();
  #current: VirtualProcess | undefined;
  #seed = 1;

  constructor(startAt = Date.UTC(2026, 0, 5)) {
    this.#now = startAt;
  }

  now(): number {
    return this.#now;
  }

  /** A clock whose timers outlive any process: for what happens outside. */
  readonly world: Clock = this.#clock(undefined);

  /** A process that can be killed: its timers never fire afterwards. Global timers belong to the latest one. */
  process(skewMs = 0): VirtualProcess {
    this.#current = new VirtualProcess(this, skewMs);
    return this.#current;
  }

  /** As {@link process}, but global timers go on belonging to whom they belong now. */
  worker(skewMs: number): VirtualProcess {
    return new VirtualProcess(this, skewMs);
  }

  /** @internal */
  add(owner: VirtualProcess | undefined, ms: number, fn: () => void): () => void {
    if (owner?.dead === true) return () => {};
    this.#order += 1;
    const timer = {
      // Whole milliseconds, as system timers count.
      at: this.#now + Math.ceil(Math.max(0, ms)),
      order: this.#order,
      owner,
      fn,
      cancelled: false,
    };
    this.#timers.push(timer);
    return () => {
      timer.cancelled = true;
    };
  }

  #clock(owner: VirtualProcess | undefined): Clock {
    return {
      now: () => this.#now,
      sleep: (ms) => new Promise((resolve) => this.add(owner, ms, resolve)),
      timer: (ms, fn) => this.add(owner, ms, fn),
    };
  }

  /**
   * Runs until `done`, or until nothing is left to happen, or until `untilMs` has come.
   * @returns whether `done` came true
   */
  async run(done: () => boolean, untilMs: number): Promise<boolean> {
    for (;;) {
      await turn();
      if (done()) return true;
      const next = this.#take(untilMs);
      if (next === undefined) {
        this.#now = Math.max(this.#now, untilMs);
        return false;
      }
      this.#now = Math.max(this.#now, next.at);
      next.fn();
    }
  }

  #take(untilMs: number): Timer | undefined {
    for (;;) {
      const timer = this.#timers.first();
      if (timer === undefined || timer.at > untilMs) return undefined;
      this.#timers.shift();
      if (!timer.cancelled && timer.owner?.dead !== true) return timer;
    }
  }

  /** Makes the globals virtual while `fn` runs. */
  async use<T>(fn: () => Promise<T>): Promise<T> {
    const pending = new Map<object, () => void>();
    const set = (callback: () => void, ms = 0): object => {
      const handle = {};
      const cancel = this.add(this.#current, ms, () => {
        pending.delete(handle);
        callback();
      });
      pending.set(handle, cancel);
      return handle;
    };
    globalThis.setTimeout = set as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((handle: object) => {
      pending.get(handle)?.();
      pending.delete(handle);
    }) as typeof clearTimeout;
    Math.random = () => this.fraction();
    try {
      return await fn();
    } finally {
      globalThis.setTimeout = realSetTimeout;
      globalThis.clearTimeout = realClearTimeout;
      Math.random = realRandom;
    }
  }

  /** Repeatable chance (a linear congruential generator). */
  fraction(): number {
    this.#seed = (this.#seed * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return this.#seed / 4_294_967_296;
  }

  /** Repeatable names. */
  nonce(): string {
    this.#order += 1;
    return this.#order.toString(16).padStart(32, '0');
  }
}

/** One process's view of the time. */
export class VirtualProcess implements Clock {
  readonly #time: VirtualTime;
  /** How far this process's clock is ahead of the true time. */
  skewMs: number;
  dead = false;

  constructor(time: VirtualTime, skewMs: number) {
    this.#time = time;
    this.skewMs = skewMs;
  }

  now(): number {
    return this.#time.now() + this.skewMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const cancel = this.#time.add(this, ms, resolve);
      signal?.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }

  timer(ms: number, fn: () => void): () => void {
    return this.#time.add(this, ms, fn);
  }

  kill(): void {
    this.dead = true;
  }
}

/** Lets everything run that can run without time passing. */
export function turn(): Promise<void> {
  return new Promise((resolve) => realImmediate(resolve));
}

/** A call that is never answered. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

function comesBefore(left: Timer, right: Timer): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order);
}

/** Timers by time, then by the order in which they were set. */
class Heap {
  readonly #items: Timer[] = [];

  first(): Timer | undefined {
    return this.#items[0];
  }

  push(timer: Timer): void {
    const items = this.#items;
    let at = items.length;
    items.push(timer);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = items[above];
      if (other === undefined || !comesBefore(timer, other)) break;
      items[at] = other;
      at = above;
    }
    items[at] = timer;
  }

  shift(): void {
    const items = this.#items;
    const last = items.pop();
    if (last === undefined || items.length === 0) return;
    let at = 0;
    for (;;) {
      const left = items[2 * at + 1];
      const right = items[2 * at + 2];
      const useRight = left !== undefined && right !== undefined && comesBefore(right, left);
      const child = useRight ? right : left;
      if (child === undefined || !comesBefore(child, last)) break;
      items[at] = child;
      at = 2 * at + (useRight ? 2 : 1);
    }
    items[at] = last;
  }
}
