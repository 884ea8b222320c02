import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listenLocally } from './dynalite.ts';

export interface DynamoProxy {
  readonly endpoint: string;
  /** PartiQL statements seen, in order. */
  readonly statements: string[];
  /**
   * The next `count` answers are lost after their request took effect; `meanwhile` happens before
   * the sender notices.
   */
  loseAnswers(count: number, meanwhile?: () => Promise<unknown>): void;
  close(): Promise<void>;
}

/**
 * Stands before a server without PartiQL and carries out the one statement the store sends as the
 * conditional put it means. It can also cut the line after an effect, so that the SDK tries again.
 */
export async function startDynamoProxy(target: string): Promise<DynamoProxy> {
  const statements: string[] = [];
  let toLose = 0;
  let beforeNoticed: (() => Promise<unknown>) | undefined;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = JSON.parse(await bodyOf(request)) as Record<string, unknown>;
    const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
    const isPartiql = operation === 'ExecuteStatement';
    if (isPartiql) statements.push(String(asked.Statement));
    const answer = await fetch(target, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `DynamoDB_20120810.${isPartiql ? 'PutItem' : operation}`,
        authorization: String(request.headers.authorization),
        'x-amz-date': String(request.headers['x-amz-date']),
      },
      body: JSON.stringify(isPartiql ? putMeantBy(asked) : asked),
    });
    const text = await answer.text();
    if (toLose > 0) {
      toLose -= 1;
      await beforeNoticed?.();
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(
      isPartiql ? text.replace('ConditionalCheckFailedException', 'DuplicateItemException') : text,
    );
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  return {
    endpoint: await listenLocally(server),
    statements,
    loseAnswers(count, meanwhile) {
      toLose = count;
      beforeNoticed = meanwhile;
    },
    close: () => closeServer(server),
  };
}

function putMeantBy(asked: Record<string, unknown>): Record<string, unknown> {
  const insert = /^INSERT INTO "([\w.-]+)" VALUE \{(.*)\}$/.exec(String(asked.Statement));
  if (insert === null) throw new Error(`not the INSERT the proxy knows: ${asked.Statement}`);
  const names = [...(insert[2] ?? '').matchAll(/'(\w+)': \?/g)].map((match) => match[1] ?? '');
  const values = asked.Parameters as unknown[];
  if (names.length !== values.length) throw new Error('parameters do not match the statement');
  return {
    TableName: insert[1],
    Item: Object.fromEntries(names.map((name, at) => [name, values[at]])),
    ConditionExpression: 'attribute_not_exists(pk)',
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
