import { createServer } from 'node:http';
import { SFNClient } from '@aws-sdk/client-sfn';
import { stepFunctionsDrives } from 'counterstep/lambda';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeServer, listenLocally } from '../../support/dynalite.ts';

/** Step Functions as far as `StartExecution` goes: a name is given once. */
function stepFunctions() {
  const started = new Map<string, Record<string, unknown>>();
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const call = JSON.parse(body) as Record<string, string>;
      const name = String(call.name);
      const type = String(call.stateMachineArn).includes('missing')
        ? 'StateMachineDoesNotExist'
        : started.has(name)
          ? 'ExecutionAlreadyExists'
          : undefined;
      response.writeHead(type === undefined ? 200 : 400, {
        'content-type': 'application/x-amz-json-1.0',
      });
      if (type === undefined) started.set(name, call);
      response.end(
        JSON.stringify(
          type === undefined
            ? { executionArn: `${call.stateMachineArn}:${name}`, startDate: 1 }
            : { __type: `com.amazonaws.swf.service.v2.model#${type}`, message: type },
        ),
      );
    });
  });
  return { server, started };
}

let fake: ReturnType<typeof stepFunctions>;
let client: SFNClient;

beforeEach(async () => {
  fake = stepFunctions();
  client = new SFNClient({
    endpoint: await listenLocally(fake.server),
    region: 'eu-central-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  });
});

afterEach(async () => {
  client.destroy();
  await closeServer(fake.server);
});

const machine = 'arn:aws:states:eu-central-1:123456789012:stateMachine:refund:3';
const drive = { tenant: 'acme', sagaId: 's1', epoch: 2, machine };

test('starts the version that the ledger names, under saga and epoch', async () => {
  await stepFunctionsDrives(client).start(drive);
  expect([...fake.started.values()]).toEqual([
    {
      stateMachineArn: machine,
      name: 's1-2',
      input: JSON.stringify({ drive: { tenant: 'acme', sagaId: 's1', epoch: 2 } }),
    },
  ]);
});

test('a drive that was started before is started', async () => {
  const drives = stepFunctionsDrives(client);
  await drives.start(drive);
  await expect(drives.start(drive)).resolves.toBeUndefined();
  expect(fake.started.size).toBe(1);
});

test('any other refusal is the caller’s to know', async () => {
  const lost = stepFunctionsDrives(client).start({ ...drive, machine: `${machine}-missing` });
  await expect(lost).rejects.toMatchObject({ name: 'StateMachineDoesNotExist' });
});
