const SKIP = Symbol.for('counterstep.skip');

/** "Nothing of this effect is to be undone", with the reason. */
export interface Skip {
  readonly [SKIP]: true;
  readonly why: string;
}

/**
 * From `compensate.from`: this one effect needs no undo (a charge of 0). The ledger keeps the reason with
 * the commit, the recovery plan shows it, and the undo is never called.
 * @param why for the person who reads the ledger; no sensitive value belongs in it
 */
export function skip(why: string): Skip {
  return { [SKIP]: true, why };
}

export function isSkip(value: unknown): value is Skip {
  return typeof value === 'object' && value !== null && SKIP in value;
}
