/** `counterstep/lambda`: what tools are implemented with, and the handlers that serve them. */

export type { Access, Role } from '../statemachines/access.ts';
export type { ApiHandlerOptions } from './aws/api-handler.ts';
export { apiHandler } from './aws/api-handler.ts';
export type { AccessOf, CallerRole } from './aws/caller.ts';
export type { LambdaContext, LambdaHandler } from './aws/context.ts';
export type { EmfMetricsOptions, LambdaMetrics } from './aws/emf-metrics.ts';
export { emfMetrics } from './aws/emf-metrics.ts';
export type { AwsHostOptions, LambdaHost } from './aws/host.ts';
export { awsHost } from './aws/host.ts';
export type { LedgerHandlerOptions } from './aws/ledger-handler.ts';
export { ledgerHandler } from './aws/ledger-handler.ts';
export type { OutboxHandlerOptions } from './aws/outbox-handler.ts';
export { outboxHandler } from './aws/outbox-handler.ts';
export type { LambdaLog } from './aws/powertools-log.ts';
export { powertoolsLog } from './aws/powertools-log.ts';
export { stepFunctionsDrives } from './aws/step-functions-drives.ts';
export type { SweepAnswer, SweepHandlerOptions } from './aws/sweep-handler.ts';
export { sweepHandler } from './aws/sweep-handler.ts';
export type { ToolHandlerOptions } from './aws/tool-handler.ts';
export { toolHandler } from './aws/tool-handler.ts';
export type { LedgerAnswer } from './ledger/ledger-function.ts';
export type { OutboxReport } from './outbox/outbox.ts';
export type { PlaneEvent } from './outbox/plane-events.ts';
export type { Log } from './ports/log.ts';
export type { Host } from './runtime/host.ts';
export type { SweepReport } from './sweep/sweep.ts';
export type { Absent, Answer, Committed, Details, Pending, Unknown } from './tool/answers.ts';
export { absent, committed, pending, unknown } from './tool/answers.ts';
export { fromAws } from './tool/classify-aws.ts';
export type { HttpAnswer, HttpSent } from './tool/classify-http.ts';
export { fromHttp } from './tool/classify-http.ts';
export type { Sent } from './tool/classify-network.ts';
export { fromNetwork } from './tool/classify-network.ts';
export {
  ambiguous,
  denied,
  hold,
  refused,
  retryable,
  TOOL_FAILURE,
  ToolFailure,
} from './tool/failures.ts';
export type { Call, Implementation, ImplementedTool, Question } from './tool/implementation.ts';
export { implementTool } from './tool/implementation.ts';
export type { Leave, Policy, PolicyCall } from './tool/policy.ts';
export { allow, deny } from './tool/policy.ts';
export type { Invocation, ToolAnswer, ToolRequest } from './tool/request.ts';
export type { HeadersLike } from './tool/retry-after.ts';
export { retryAfterMs } from './tool/retry-after.ts';
