/** `counterstep/testing`: shows that a saga survives its failures, before it meets them. */
export { Chance } from './chance.ts';
export { check } from './checker/check.ts';
export type { LivenessFacts } from './checker/liveness.ts';
export { liveness } from './checker/liveness.ts';
export type { ProjectedRow, ProjectedSaga, PublishedEvent } from './checker/projection.ts';
export { checkProjection, checkStrays } from './checker/projection.ts';
export type {
  CallFact,
  EffectFact,
  LedgerName,
  PartnerFacts,
  StoredRecord,
} from './checker/records.ts';
export { checkReruns } from './checker/reruns.ts';
export type { StandingWords } from './checker/standing.ts';
export { checkStanding } from './checker/standing.ts';
export { checkTenants } from './checker/tenants.ts';
export { exampleOf, NoExample } from './example.ts';
export type { FailureMatrix, MatrixCell, MatrixOptions } from './matrix.ts';
export { failureMatrix, MatrixBroken, NoSuchCase } from './matrix.ts';
export type { Mishap, QuestionMishap } from './mishaps.ts';
export type { End } from './play.ts';
export type { SimulateOptions, Simulation } from './simulate.ts';
export { SimulationBroken, simulate, simulateSeed, tell } from './simulate.ts';
export type { Strike } from './strikes.ts';
export type { WorldResult } from './world.ts';
