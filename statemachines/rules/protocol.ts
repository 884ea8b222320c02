/** Numbers that every writer of protocol 1 shares. Changing one makes a new protocol. */

/** How far two writers' clocks may differ before a lease can be taken too early. */
export const SKEW_MS = 2_000;

/** From an attempt's hard deadline to the end of its lease: time to ask the provider once and to record. */
export const LEASE_MARGIN_MS = 1_000;

/** A drive that runs without a live claim is looked at again after this long. */
export const DRIVE_CHECK_MS = 60_000;

/** Longest pause between two questions about one call in doubt. */
export const MAX_ASK_INTERVAL_MS = 3_600_000;

/** First pause after a drive that moved nothing; each further one is four times as long. */
export const FIRST_IDLE_PAUSE_MS = 1_000;
export const MAX_IDLE_PAUSE_MS = 900_000;

/**
 * Tries of a step behind the pivot, at least: nothing before it can be undone any more, so it goes on
 * until it is done, with growing pauses, before a person is asked.
 */
export const AFTER_PIVOT_ATTEMPTS = 50;
/** And for so long, at least, where it says how long. */
export const AFTER_PIVOT_FOR_MS = 86_400_000;

/** How long a saga that was asked to go on with another one's work has until its first event stands. */
export const RERUN_LEASE_MS = 30_000;

/** Drives in a row that moved nothing before a person is asked. */
export const MAX_IDLE_DRIVES = 8;
