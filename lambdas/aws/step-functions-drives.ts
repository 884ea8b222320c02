import { ExecutionAlreadyExists, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import type { DriveInput } from '../../statemachines/asl/payloads.ts';
import { executionNameOf } from '../../statemachines/rules/keys.ts';
import type { DriveStarter } from '../ports/drive-starter.ts';

/** Starts drives as executions of the machine version that the saga's ledger names. */
export function stepFunctionsDrives(client: SFNClient = sfnClient()): DriveStarter {
  return {
    async start({ tenant, sagaId, epoch, machine }) {
      const input: DriveInput = { drive: { tenant, sagaId, epoch } };
      try {
        await client.send(
          new StartExecutionCommand({
            stateMachineArn: machine,
            name: executionNameOf(sagaId, epoch),
            input: JSON.stringify(input),
          }),
        );
      } catch (error) {
        // The name says saga and epoch: what exists is this very drive, running or over.
        if (!(error instanceof ExecutionAlreadyExists)) throw error;
      }
    },
  };
}

/** Gives up early: a start that is lost is covered by the saga's `dueAt`. */
function sfnClient(): SFNClient {
  return new SFNClient({
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 1_000,
      requestTimeout: 3_000,
      throwOnRequestTimeout: true,
    },
  });
}
