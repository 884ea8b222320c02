import type {
  HaltReason,
  IncidentOpened,
  ReviewReason,
  SagaEvent,
  SagaStatus,
} from '../../statemachines/rules/events.ts';
import type { Transition } from '../../statemachines/transitions.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import type { Tampering, TamperingKind } from '../ports/saga-index.ts';
import type { SagaRow } from '../projection/row.ts';

/** `detail-type` of an event about a saga is this and the name of the transition. */
const SAGA = 'counterstep.saga.';
export const LEDGER_TAMPERED = 'counterstep.ledger.tampered';

/** Why, in words from closed lists only: nothing that a person or a provider wrote. */
export type PublishedReason = HaltReason | ReviewReason | IncidentOpened['reason'];

type SagaEventType = `${typeof SAGA}${Transition}`;

export function sagaEventType(transition: Transition): SagaEventType {
  return `${SAGA}${transition}`;
}

/**
 * What leaves the plane. Described for listeners in `docs/events.md`, and as JSON Schema in
 * `docs/events.schema.json`; no member comes from arguments, results or people's words.
 */
export type PlaneEvent =
  | {
      readonly type: SagaEventType;
      readonly at: number;
      readonly detail: SagaDetail;
    }
  | {
      readonly type: typeof LEDGER_TAMPERED;
      readonly at: number;
      readonly detail: TamperedDetail;
    };

interface Detail {
  /** The event's place among all: the same however often it is published. */
  readonly id: string;
  readonly tenant: string;
  readonly sagaId: string;
  /** Number of the ledger's event. */
  readonly seq: number;
  /** ISO 8601. */
  readonly at: string;
}

export interface SagaDetail extends Detail {
  readonly name: string;
  readonly version: string;
  readonly state: SagaStatus;
  readonly reason?: PublishedReason;
  /** Id of the review that was opened. */
  readonly review?: string;
  /** Of a compensated saga: the step that closes the checkpoint it went back to. */
  readonly checkpoint?: string;
}

export interface TamperedDetail extends Detail {
  readonly found: TamperingKind;
  /** Absent where the projection never saw the saga begin. */
  readonly name?: string;
  readonly state?: SagaStatus;
}

export interface Publication {
  readonly transition: Transition;
  readonly reason?: PublishedReason;
  readonly review?: string;
  readonly checkpoint?: string;
}

/** `saga`: whatever is known of it, before or after. */
export function sagaEvent(
  saga: Pick<SagaRow, 'tenant' | 'sagaId' | 'name' | 'version'>,
  { seq, at, state }: SagaEvent,
  { transition, ...more }: Publication,
): PlaneEvent {
  const { tenant, sagaId, name, version } = saga;
  const id = `${tenant}/${sagaId}/${seq}`;
  return {
    type: sagaEventType(transition),
    at,
    detail: { id, tenant, sagaId, name, version, state, seq, at: isoOf(at), ...more },
  };
}

export function tamperedEvent(
  { tenant, sagaId }: LedgerId,
  { seq, at, found }: Tampering,
  row: SagaRow | undefined,
): PlaneEvent {
  const id = `${tenant}/${sagaId}/${seq}/tampered`;
  const known = row === undefined ? {} : { name: row.name, state: row.state };
  const detail = { id, tenant, sagaId, ...known, seq, at: isoOf(at), found };
  return { type: LEDGER_TAMPERED, at, detail };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
