import type { AnySaga } from '../../statemachines/language/saga.ts';
import type { AnyTool } from '../../statemachines/language/tool.ts';
import { LedgerDamaged } from '../../statemachines/ledger/chain.ts';
import type { Command, Rejection } from '../../statemachines/rules/commands.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import type { TenantBudgetBook } from '../../statemachines/rules/tenant-budget.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import type { SagaIndex } from '../ports/saga-index.ts';
import type { Host } from '../runtime/host.ts';
import type { SagaLedger } from '../runtime/saga-ledger.ts';
import type { Principal, Role } from './principal.ts';
import { Problem } from './problems.ts';

/** What every operation of the service works with. */
export interface Parts {
  readonly host: Host;
  readonly ledger: SagaLedger;
  readonly sagas: ReadonlyMap<string, AnySaga>;
  readonly tools: readonly AnyTool[];
  readonly index: SagaIndex;
  /** Budgets of tenants. Absent, as for a tenant without one: nothing is limited, and nothing counted. */
  readonly tenants?: TenantBudgetBook;
  /** What event 1 names as the machine of a saga that starts now. */
  machineOf(saga: AnySaga): string;
}

/** @throws Problem `forbidden` unless the principal has one of the roles */
export function demand(principal: Principal, ...roles: readonly Role[]): void {
  if (roles.some((role) => principal.roles.includes(role))) return;
  throw new Problem(
    'forbidden',
    'the caller may not do this',
    `ask for the role ${roles.map((role) => `"${role}"`).join(' or ')}`,
  );
}

/** Reading is open to whoever has any role at all. */
export function demandReader(principal: Principal): void {
  demand(principal, 'reader', 'starter', 'reviewer', 'operator', 'auditor');
}

/** Anything else was never given out as an id, and need not reach a store. */
const SAGA_ID = /^[A-Za-z0-9_-]{1,80}$/;

/**
 * The ledger behind an id, within the caller's own tenant: another tenant's id leads to a place
 * where nothing is, as a wrong one does (invariant 8).
 * @throws Problem `saga-unknown`
 */
export function ledgerIdOf(principal: Principal, sagaId: string): LedgerId {
  if (!SAGA_ID.test(sagaId)) throw sagaUnknown();
  return { tenant: principal.tenant, sagaId };
}

export function sagaUnknown(): Problem {
  return new Problem(
    'saga-unknown',
    'there is no saga with this id',
    'use an id that a start or the list of sagas answered',
    { at: 'id' },
  );
}

/**
 * @throws Problem `saga-unknown`
 * @throws LedgerDamaged also where the projection knows a saga whose ledger is gone
 */
export async function loadSaga(parts: Parts, id: LedgerId): Promise<SagaState> {
  const state = await parts.ledger.load(id);
  if (state !== undefined) return state;
  if ((await parts.index.head(id.tenant, id.sagaId)) === undefined) throw sagaUnknown();
  throw new LedgerDamaged(1, 'it is missing, but the projection knows the saga');
}

/**
 * Lets the rules take a caller's command.
 * @returns the saga after it
 * @throws Problem `conflict` with the rules' reason, or `saga-unknown`
 */
export async function command(
  parts: Parts,
  principal: Principal,
  id: LedgerId,
  given: Command,
  remedy: string,
): Promise<SagaState> {
  const { verdict, state } = await parts.ledger.write(id, given, { actor: principal.id });
  if (verdict.kind === 'rejected') throw rejected(verdict.rejection, remedy);
  if (state === undefined) throw sagaUnknown();
  return state;
}

export function rejected(rejection: Rejection, remedy: string): Problem {
  if (rejection.reason === 'not_found') return sagaUnknown();
  const explanation =
    rejection.reason === 'conflict'
      ? rejection.explanation
      : `the saga answers "${rejection.reason}"`;
  const until = 'until' in rejection ? rejection.until : undefined;
  return new Problem('conflict', explanation, remedy, until === undefined ? {} : { until });
}
