/**
 * Environment variables by which a deployed function finds the plane's tables. The constructs set
 * them and the handlers read them; neither writes a name again.
 */
export const TABLE_VARIABLES = {
  ledger: 'COUNTERSTEP_LEDGER_TABLE',
  payloads: 'COUNTERSTEP_PAYLOAD_TABLE',
  coordination: 'COUNTERSTEP_COORDINATION_TABLE',
} as const;

/** Which plane the function belongs to: a dimension of its metrics. */
export const PLANE_VARIABLE = 'COUNTERSTEP_PLANE';

/** Name or ARN of the bus that the outbox publishes to. */
export const EVENT_BUS_VARIABLE = 'COUNTERSTEP_EVENT_BUS';

/** Which transitions the outbox publishes, separated by commas. Absent: those of the default. */
export const EVENTS_VARIABLE = 'COUNTERSTEP_EVENTS';

/** `source` of every event on that bus. */
export const EVENT_SOURCE = 'counterstep';
