/**
 * The mail sink as a process of its own:
 * `node --conditions=counterstep-source --import tsx examples/mail/main.ts [--port 0] [--ses-port 0] [--file mail.ndjson]`.
 * Prints one line of JSON: `smtpUrl`, `sesUrl`, and `controlUrl` with `GET /records`, `POST /faults`, `DELETE /faults`.
 */
import { parseArgs } from 'node:util';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { z } from 'zod';
import { MAIL_FAULTS, type MailFaultRequest } from './mailbox.ts';
import { startMailSink } from './sink.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'ses-port': { type: 'string', default: '0' },
    'control-port': { type: 'string', default: '0' },
    file: { type: 'string' },
  },
});

const faultSchema = z.strictObject({
  fault: z.enum(MAIL_FAULTS),
  match: z
    .strictObject({ to: z.string().optional(), correlationId: z.string().optional() })
    .optional(),
  times: z.int().min(1).optional(),
  delayMs: z.int().min(0).optional(),
});

const sink = await startMailSink({
  port: Number(values.port),
  sesPort: Number(values['ses-port']),
  ...(values.file === undefined ? {} : { file: values.file }),
});
const control = new Hono();
control.get('/records', (c) => c.json(sink.records()));
control.post('/faults', async (c) => {
  const parsed = faultSchema.safeParse(await c.req.json().catch(() => null));
  if (!parsed.success) return c.json({ status: 400, detail: z.prettifyError(parsed.error) }, 400);
  // The schema's optional members may be `undefined`, which JSON cannot carry.
  sink.fault(parsed.data as MailFaultRequest);
  return c.json(parsed.data, 201);
});
control.delete('/faults', (c) => {
  sink.clearFaults();
  return c.body(null, 204);
});

const server = serve(
  { fetch: control.fetch, port: Number(values['control-port']), hostname: '127.0.0.1' },
  (info) => {
    const controlUrl = `http://127.0.0.1:${info.port}`;
    const { url: smtpUrl, sesUrl } = sink;
    console.log(JSON.stringify({ smtpUrl, sesUrl, controlUrl, pid: process.pid }));
  },
);

async function end(): Promise<void> {
  server.close();
  await sink.stop();
  process.exit(0);
}
process.on('SIGTERM', () => void end());
process.on('SIGINT', () => void end());
