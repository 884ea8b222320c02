import type { ToolCall } from '../../statemachines/asl/payloads.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import type { ImplementedTool } from '../tool/implementation.ts';
import { type ToolAnswer, toolRequest } from '../tool/request.ts';
import { ToolRuntime } from '../tool/runtime.ts';
import type { LambdaHandler } from './context.ts';
import { awsToolHost, type LambdaHost } from './host.ts';
import { serve } from './serve.ts';

export interface ToolHandlerOptions {
  /** Every definition with a step over the tool: their input mappings run here. */
  readonly sagas: readonly AnySaga[];
  /** Default: {@link awsToolHost} by the function's environment. */
  readonly host?: LambdaHost;
}

/**
 * The Lambda handler of one tool.
 * @throws Error while the function starts, where its environment or `sagas` do not fit
 */
export function toolHandler(
  tool: ImplementedTool,
  options: ToolHandlerOptions,
): LambdaHandler<ToolCall, ToolAnswer> {
  const { sagas } = options;
  const { name } = tool.contract;
  if (!sagas.some((saga) => saga.steps.some((step) => step.tool.name === name))) {
    throw new Error(
      `no saga given to the handler of tool "${name}" has a step over it: pass the definitions that use it as \`sagas\``,
    );
  }
  const host = options.host ?? awsToolHost(process.env);
  const runtime = new ToolRuntime({ tool, sagas, host });
  return serve(
    host,
    ({ step, action }) => ({ step, action }),
    (call: ToolCall, invocation) => runtime.handle(toolRequest(call), invocation),
  );
}
