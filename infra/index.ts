/** `counterstep/cdk`: constructs that deploy sagas. */

export type { Access, Role } from '../statemachines/access.ts';
export type { OpenState } from '../statemachines/metrics.ts';
export type { TenantBudget, TenantBudgetBook } from '../statemachines/rules/tenant-budget.ts';
export type { Transition } from '../statemachines/transitions.ts';
export type { AlarmKind, WatchingThresholds } from './alarms.ts';
export type { SagaFunctionProps } from './functions.ts';
export type { SagaApiOptions } from './http-api.ts';
export { SagaApi } from './http-api.ts';
export type { HttpFrontProps, JwtFrontProps } from './http-front.ts';
export { MAX_ROLE_POLICY_BYTES } from './machine.ts';
export type { AnyEventBus, OutboxOptions } from './outbox.ts';
export { Outbox } from './outbox.ts';
export type { SagaPlaneProps, ToolProps } from './plane.ts';
export { SagaPlane } from './plane.ts';
export { DEPLOYMENT_ERROR, DeploymentError } from './problems.ts';
export type { SagaOptions } from './saga.ts';
export { Saga } from './saga.ts';
export type { SweepOptions } from './sweep.ts';
export { Sweep } from './sweep.ts';
export type { SagaTablesProps } from './tables.ts';
export { SagaTables } from './tables.ts';
export type { WatchingOptions } from './watching.ts';
export { Watching } from './watching.ts';
