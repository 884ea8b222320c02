import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createTransport } from 'nodemailer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type MailSink, startMailSink } from '../../examples/mail/sink.ts';
import { failureOf, folder } from './support.ts';

let sink: MailSink;
beforeEach(async () => {
  sink = await startMailSink();
});
afterEach(() => sink.stop());

async function send(
  to = 'ann@example.com',
  correlationId = 'c-1',
  port = sink.port,
): Promise<unknown> {
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  try {
    return await transport.sendMail({
      from: 'shop@example.com',
      to,
      subject: 'Hello',
      text: 'A line.',
      headers: { 'X-Correlation-Id': correlationId },
    });
  } finally {
    transport.close();
  }
}

describe('the mail sink', () => {
  it('keeps what it took', async () => {
    await send();
    expect(sink.messages()).toMatchObject([
      {
        from: 'shop@example.com',
        to: ['ann@example.com'],
        subject: 'Hello',
        correlationId: 'c-1',
        body: expect.stringContaining('A line.'),
      },
    ]);
    expect(sink.records().calls).toMatchObject([{ outcome: 'accepted', fault: null }]);
  });

  it('keeps it on disk before it answers', async () => {
    const { path, remove } = folder();
    const file = `${path}/mail.ndjson`;
    await sink.stop();
    sink = await startMailSink({ file });
    await send();
    const before = sink.records();
    await sink.stop();
    sink = await startMailSink({ file });
    expect(sink.records()).toEqual(before);
    await send('bob@example.com');
    const numbers = [...sink.records().calls, ...sink.records().effects].map(({ seq }) => seq);
    expect(numbers.toSorted()).toEqual([1, 2, 3, 4]);
    remove();
  });

  it.each([
    ['refuse_recipient', 550, 'refused'],
    ['temporary_refusal', 451, 'deferred'],
  ] as const)('%s answers %i and takes nothing', async (fault, responseCode, outcome) => {
    sink.fault({ fault });
    expect(await failureOf(send())).toMatchObject({ responseCode });
    expect(sink.messages()).toEqual([]);
    expect(sink.records().calls).toMatchObject([{ outcome, fault }]);
    await send();
    expect(sink.messages()).toHaveLength(1);
  });

  it('drop_after_data takes the message and says nothing', async () => {
    sink.fault({ fault: 'drop_after_data' });
    const error = await failureOf(send());
    expect(error.responseCode).toBeUndefined();
    expect(sink.messages()).toHaveLength(1);
    expect(sink.records().calls).toMatchObject([
      { outcome: 'accepted_unanswered', message: sink.messages()[0]?.seq },
    ]);
  });

  it('drop_before_data takes nothing and says nothing', async () => {
    sink.fault({ fault: 'drop_before_data' });
    expect((await failureOf(send())).responseCode).toBeUndefined();
    expect(sink.messages()).toEqual([]);
    expect(sink.records().calls).toMatchObject([{ outcome: 'dropped' }]);
  });

  it('slow takes the message after the pause', async () => {
    sink.fault({ fault: 'slow', delayMs: 50 });
    await send();
    expect(sink.records().calls).toMatchObject([{ outcome: 'accepted', fault: 'slow' }]);
  });

  it('strikes by recipient and by correlation id, as often as told', async () => {
    sink.fault({ fault: 'refuse_recipient', match: { to: 'bob@example.com' }, times: 2 });
    await send('ann@example.com');
    await failureOf(send('bob@example.com'));
    await failureOf(send('bob@example.com'));
    await send('bob@example.com');

    sink.fault({ fault: 'temporary_refusal', match: { correlationId: 'c-9' } });
    await send('ann@example.com', 'c-8');
    expect(await failureOf(send('ann@example.com', 'c-9'))).toMatchObject({ responseCode: 451 });
    expect(sink.records().calls.at(-1)).toMatchObject({
      correlationId: 'c-9',
      outcome: 'deferred',
    });

    sink.fault({ fault: 'refuse_recipient' });
    sink.clearFaults();
    await send();
    expect(sink.messages().map(({ to }) => to[0])).toEqual([
      'ann@example.com',
      'bob@example.com',
      'ann@example.com',
      'ann@example.com',
    ]);
  });
});

describe('the mail sink as a process', () => {
  it('is watched and disturbed over HTTP', async () => {
    const root = fileURLToPath(new URL('../../', import.meta.url));
    const child = spawn(
      process.execPath,
      ['--conditions=counterstep-source', '--import', 'tsx', 'examples/mail/main.ts'],
      { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    try {
      const [line] = await once(createInterface({ input: child.stdout }), 'line');
      const { smtpUrl, controlUrl } = JSON.parse(String(line)) as Record<string, string>;
      const port = Number(new URL(smtpUrl ?? '').port);
      const switchOn = (body: unknown) =>
        fetch(`${controlUrl}/faults`, { method: 'POST', body: JSON.stringify(body) });
      expect((await switchOn({ fault: 'explode' })).status).toBe(400);
      expect((await switchOn({ fault: 'temporary_refusal', times: 9 })).status).toBe(201);
      expect(await failureOf(send('ann@example.com', 'c-1', port))).toMatchObject({
        responseCode: 451,
      });
      await fetch(`${controlUrl}/faults`, { method: 'DELETE' });
      await send('ann@example.com', 'c-1', port);
      const records = await (await fetch(`${controlUrl}/records`)).json();
      expect(records).toMatchObject({
        calls: [{ outcome: 'deferred' }, { outcome: 'accepted' }],
        effects: [{ to: ['ann@example.com'], correlationId: 'c-1' }],
      });
    } finally {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      expect(await exit).toEqual([0, null]);
    }
  });
});
