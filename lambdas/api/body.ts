import { MAX_PAYLOAD_BYTES } from '../ports/payload-store.ts';
import { tooLarge } from '../service/body.ts';
import { Problem } from '../service/problems.ts';

/** A body beyond the limit is read on to here, so that its sender can hear why it is refused. */
const MAX_READ_BYTES = 16 * MAX_PAYLOAD_BYTES;

/**
 * The bytes of a request, as they came: reading them as JSON is strict, and is done elsewhere.
 * @throws Problem `input-too-large` or `content-type-unknown`
 */
export async function readBody(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? '0');
  if (declared > MAX_READ_BYTES) throw tooLarge(declared);
  const body = await readAll(request);
  if (body.byteLength === 0) return body;
  // Other types are what a page of another origin may send without asking first.
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type === 'application/json' || type?.endsWith('+json') === true) return body;
  throw new Problem(
    'content-type-unknown',
    'the body is not declared as JSON',
    'send the header content-type: application/json',
    { at: 'content-type' },
  );
}

async function readAll(request: Request): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes <= MAX_PAYLOAD_BYTES) chunks.push(chunk);
    if (bytes > MAX_READ_BYTES) break;
  }
  if (bytes > MAX_PAYLOAD_BYTES) throw tooLarge(bytes);
  return Buffer.concat(chunks);
}
