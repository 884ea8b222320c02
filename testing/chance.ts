/** Repeatable chance: the same seed gives the same numbers, on every machine (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Uniform in [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    const state = this.#state;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number in [from, to]. */
  between(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1));
  }

  happens(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** @throws RangeError where there is nothing to choose from */
  pick<T>(among: readonly T[]): T {
    const found = among[Math.floor(this.fraction() * among.length)];
    if (among.length === 0) throw new RangeError('there is nothing to choose from');
    return found as T;
  }

  /** Chance of its own for one purpose: what one part draws does not move what another one draws. */
  apart(purpose: string): Chance {
    let mixed = this.#state ^ 0x9e3779b9;
    for (let at = 0; at < purpose.length; at += 1) {
      mixed = Math.imul(mixed ^ purpose.charCodeAt(at), 0x01000193) >>> 0;
    }
    return new Chance(mixed);
  }
}
