/** `counterstep`: the saga language, the compiler and the pure rules. */

// Compiler
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
export type * from './asl/types.ts';
export type { AslVerdict } from './asl/validate.ts';
export { validateAsl } from './asl/validate.ts';
export { defineSaga, defineSagaFromSteps } from './language/define-saga.ts';
export { defineTool } from './language/define-tool.ts';
// The saga language
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
  SagaBuilder,
  SagaDefinition,
  SagaSpec,
  StepDeclaration,
  StepFacts,
  UncheckedSagaSpec,
} from './language/saga.ts';
export type { Checked, Given, Schema } from './language/schema.ts';
export { hasSensitive, sensitive, sensitiveValues } from './language/sensitive.ts';
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
export type { JsonValue } from './ledger/canonical.ts';
export { canonicalJson } from './ledger/canonical.ts';
export { sagaGraph } from './plan/mermaid.ts';
// Plan
export type { SagaPlan, StepPlan } from './plan/plan.ts';
// ─── Rules and ledger (kept by their own authors) ───────────────────────────────────────────────
export type * from './rules/events.ts';
