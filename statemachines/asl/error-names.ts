/**
 * Names of the errors that pass from a Lambda to the state machine. The thrower sets `error.name`
 * to one of these, the generated `Retry` lists them; neither writes the text again.
 */

/** A terminal fact stands, or the ledger refuses this step for good: recovery decides what follows. */
export const TERMINAL = 'Counterstep.Terminal';
/** Another attempt holds the step. */
export const IN_FLIGHT = 'Counterstep.InFlight';
/** This drive's epoch is over; it may claim nothing. */
export const STALE = 'Counterstep.Stale';
/** The provider has not settled the call, or a longer back-off runs: the drive parks. */
export const WAITING = 'Counterstep.Waiting';
/** The drive's own time is up; the step had not begun. */
export const SOFT_DEADLINE = 'Counterstep.SoftDeadline';
/** Only a person can say how to go on. */
export const HELD = 'Counterstep.Held';
/** A predecessor is not done in the ledger. */
export const NOT_READY = 'Counterstep.NotReady';

/** Errors that the same drive cannot mend by trying again: straight to `assess`. */
export const NEVER_RETRIED = [
  TERMINAL,
  IN_FLIGHT,
  STALE,
  WAITING,
  SOFT_DEADLINE,
  HELD,
  NOT_READY,
] as const;
export type ErrorName = (typeof NEVER_RETRIED)[number];

/** Names by which an execution fails when its saga ended otherwise than completed. */
export const COMPENSATED = 'Compensated';
export const INCIDENT = 'Incident';
