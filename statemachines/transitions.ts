/**
 * What becomes of a saga that is passed on to those outside: what somebody there could act on. Parking
 * and going on, of which there may be hundreds, are none of it and are read from the API.
 */
export const TRANSITIONS = [
  'started',
  'compensating',
  'needs_review',
  'completed',
  'compensated',
  'incident',
] as const;
export type Transition = (typeof TRANSITIONS)[number];

/**
 * Those that a plane puts on its bus unless told otherwise. Each costs: whoever starts a saga knows
 * that it started, so one that goes well makes one event, and one that is undone makes two.
 */
export const PUBLISHED_BY_DEFAULT: readonly Transition[] = TRANSITIONS.filter(
  (transition) => transition !== 'started',
);

/** @throws RangeError that names what is no transition */
export function transitionsIn(names: readonly string[]): Transition[] {
  return names.map((name) => {
    const known = TRANSITIONS.find((transition) => transition === name);
    if (known !== undefined) return known;
    throw new RangeError(`there is no event "${name}": give some of ${TRANSITIONS.join(', ')}`);
  });
}
