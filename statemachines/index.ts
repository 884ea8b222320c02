/**
 * `counterstep`: the saga language, the compiler and the pure rules.
 * Imports no SDK. A tool's bundle keeps of it only what the tool's contract uses.
 */

// ─── The saga language ──────────────────────────────────────────────────────────────────────────

export type { BreakerPolicy } from './language/breaker-policy.ts';
export { defineSaga, defineSagaFromSteps } from './language/define-saga.ts';
export { defineTool } from './language/define-tool.ts';
export type {
  CallPolicy,
  Dedupe,
  EffectClass,
  RetryPolicy,
  SagaType,
} from './language/effects.ts';
export { DEDUPE_KINDS, EFFECT_CLASSES } from './language/effects.ts';
export type { Problem } from './language/problems.ts';
export { DEFINITION_ERROR, DefinitionError } from './language/problems.ts';
export type {
  AnySaga,
  AnyStepFacts,
  DefinedStep,
  RecoverySpec,
  SagaBudget,
  SagaBuilder,
  SagaDefinition,
  SagaSpec,
  StepDeclaration,
  StepFacts,
  UncheckedSagaSpec,
} from './language/saga.ts';
export type { Checked, Given, Schema } from './language/schema.ts';
export { hasSensitive, sensitive, sensitiveValues } from './language/sensitive.ts';
export type { Skip } from './language/skip.ts';
export { skip } from './language/skip.ts';
export type {
  AnyCompensation,
  AnyFacts,
  AnyTool,
  CallSpec,
  CompensateSpec,
  Compensation,
  CostEstimate,
  Facts,
  ReadSpec,
  Tool,
  ToolArguments,
  ToolResult,
  ToolSpec,
} from './language/tool.ts';

// ─── Plan ───────────────────────────────────────────────────────────────────────────────────────

export { sagaGraph } from './plan/mermaid.ts';
export type { SagaPlan, StepPlan } from './plan/plan.ts';

// ─── Compiler ───────────────────────────────────────────────────────────────────────────────────

export type { CompileOptions } from './asl/compile.ts';
export { compileSaga, recoverStateName } from './asl/compile.ts';
export * from './asl/error-names.ts';
export {
  definitionBytes,
  historyEventBound,
  MAX_DEFINITION_BYTES,
  MAX_HISTORY_EVENTS,
} from './asl/limits.ts';
export type {
  AssessAnswer,
  BeginAnswer,
  CompleteAnswer,
  DriveIds,
  DriveInput,
  LedgerCall,
  LedgerOp,
  SettleAnswer,
  ToolCall,
} from './asl/payloads.ts';
export type { Functions } from './asl/task.ts';
export {
  INLINE_WAIT_MS,
  LEDGER_LAMBDA_SECONDS,
  LEDGER_TIME_MS,
  lambdaTimeoutSeconds,
  RECONCILE_LIMIT_MS,
  toolTaskSeconds,
} from './asl/timeouts.ts';
export type { State, StateMachine, States, TaskState } from './asl/types.ts';
export type { AslVerdict } from './asl/validate.ts';
export { validateAsl } from './asl/validate.ts';

// ─── Rules (the decider) ────────────────────────────────────────────────────────────────────────

export type {
  Command,
  Context,
  Rejection,
  Verdict as RulesVerdict,
} from './rules/commands.ts';
export { decide } from './rules/decide.ts';
export * from './rules/events.ts';
export { evolve, fold } from './rules/evolve.ts';
export type { StandingReport } from './rules/standing.ts';
export { standingReport } from './rules/standing.ts';
export type { SagaState, StepState } from './rules/state.ts';
export type { TenantBudget, TenantBudgetBook } from './rules/tenant-budget.ts';

// ─── Ledger ─────────────────────────────────────────────────────────────────────────────────────

export type { JsonValue } from './ledger/canonical.ts';
export { canonicalJson } from './ledger/canonical.ts';
export type { ChainedRecord, ChainId } from './ledger/chain.ts';
export { LEDGER_DAMAGED, LedgerDamaged, openRecord, sealEvent } from './ledger/chain.ts';
export { IJSON_ERROR, IJsonError, parseIJson, toIJson } from './ledger/ijson.ts';
export {
  EXPORT_ERROR,
  ExportError,
  exportLedger,
  readExport,
  verifyExport,
} from './ledger/ndjson.ts';
export type { Verdict as ChainVerdict } from './ledger/verify.ts';
export { verifyChain } from './ledger/verify.ts';
