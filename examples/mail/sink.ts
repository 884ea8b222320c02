import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';

/** Everything that can be made to go wrong with one delivery. */
export const MAIL_FAULTS = [
  /** 550: this recipient is refused for good. */
  'refuse_recipient',
  /** 451: not now. */
  'temporary_refusal',
  /** Closes the connection before any message was handed over. */
  'drop_before_data',
  /** Takes the message, then closes the connection without the answer. */
  'drop_after_data',
  /** Waits `delayMs`, then takes the message and answers, whether or not anybody still listens. */
  'slow',
] as const;
export type MailFaultName = (typeof MAIL_FAULTS)[number];

/** How a message is turned away. */
const REFUSALS = {
  refuse_recipient: { outcome: 'refused', responseCode: 550, reply: 'No such mailbox here' },
  temporary_refusal: { outcome: 'deferred', responseCode: 451, reply: 'Try again later' },
  drop_before_data: { outcome: 'dropped', responseCode: 421, reply: 'Closing' },
} as const;
type Refusal = keyof typeof REFUSALS;
const isRefusal = (fault: MailFaultName | undefined): fault is Refusal =>
  fault !== undefined && fault in REFUSALS;

export interface MailFaultRequest {
  readonly fault: MailFaultName;
  /** `correlationId` stands in a header: such a fault strikes after the message was sent over. */
  readonly match?: { readonly to?: string; readonly correlationId?: string };
  /** How many deliveries it strikes. Default 1. */
  readonly times?: number;
  /** For `slow`. Default 2,500. */
  readonly delayMs?: number;
}

/** One attempt to deliver, whatever came of it. */
export interface MailCall {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly from: string;
  readonly to: readonly string[];
  /** `null` where the attempt ended before the headers came. */
  readonly correlationId: string | null;
  readonly outcome: 'accepted' | 'accepted_unanswered' | 'refused' | 'deferred' | 'dropped';
  readonly fault: MailFaultName | null;
  /** `seq` of the message that was taken. */
  readonly message: number | null;
}

/** A message that was taken, and so counts as sent. */
export interface MailMessage {
  readonly seq: number;
  readonly at: number;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly messageId: string;
  readonly correlationId: string | null;
  readonly body: string;
}

export interface MailRecords {
  readonly system: 'mail';
  readonly calls: readonly MailCall[];
  readonly effects: readonly MailMessage[];
}

export interface MailSink {
  readonly port: number;
  /** `smtp://127.0.0.1:<port>` */
  readonly url: string;
  messages(): readonly MailMessage[];
  records(): MailRecords;
  /** Switches a fault on. */
  fault(request: MailFaultRequest): void;
  clearFaults(): void;
  stop(): Promise<void>;
}

export interface MailSinkOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** Keeps everything as NDJSON, on disk before a delivery is answered; read again at the next start. */
  readonly file?: string;
}

type Line =
  | { readonly kind: 'call'; readonly row: MailCall }
  | { readonly kind: 'message'; readonly row: MailMessage };

/** Starts an SMTP server on this machine that keeps every message and sends none on. */
export async function startMailSink(options: MailSinkOptions = {}): Promise<MailSink> {
  const calls: MailCall[] = [];
  const messages: MailMessage[] = [];
  const faults: (MailFaultRequest & { times: number })[] = [];
  let seq = 0;

  const keep = (line: Line): void => {
    if (line.kind === 'call') calls.push(line.row);
    else messages.push(line.row);
    seq = Math.max(seq, line.row.seq);
  };
  if (options.file !== undefined && existsSync(options.file)) {
    for (const line of readFileSync(options.file, 'utf8').split('\n')) {
      if (line !== '') keep(JSON.parse(line) as Line);
    }
  }
  const file = options.file === undefined ? undefined : openSync(options.file, 'a');
  const store = (line: Line): void => {
    if (file !== undefined) {
      writeSync(file, `${JSON.stringify(line)}\n`);
      fsyncSync(file);
    }
    keep(line);
  };

  const take = (
    to: readonly string[],
    wanted: (fault: MailFaultRequest) => boolean,
  ): MailFaultRequest | undefined => {
    const fault = faults.find(
      (one) => (one.match?.to === undefined || to.includes(one.match.to)) && wanted(one),
    );
    if (fault === undefined) return undefined;
    fault.times -= 1;
    if (fault.times === 0) faults.splice(faults.indexOf(fault), 1);
    return fault;
  };

  const sockets = new Map<number, Socket>();
  const drop = (session: SMTPServerSession): void => {
    sockets.get(session.remotePort)?.destroy();
  };
  const record = (
    session: SMTPServerSession,
    call: Pick<MailCall, 'outcome' | 'fault' | 'correlationId' | 'message' | 'to'>,
  ): void => {
    const from = senderOf(session);
    store({ kind: 'call', row: { seq: seq + 1, at: Date.now(), from, ...call } });
  };
  const turnAway = (
    session: SMTPServerSession,
    fault: Refusal,
    to: readonly string[],
    correlationId: string | null,
  ): Error => {
    const { outcome, responseCode, reply } = REFUSALS[fault];
    record(session, { outcome, fault, correlationId, message: null, to });
    if (fault === 'drop_before_data') drop(session);
    return Object.assign(new Error(reply), { responseCode });
  };

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onRcptTo({ address }, session, callback) {
      const early = take(
        [address],
        ({ fault, match }) => isRefusal(fault) && match?.correlationId === undefined,
      )?.fault;
      callback(isRefusal(early) ? turnAway(session, early, [address], null) : null);
    },
    onData(stream, session, callback) {
      void receive(session, stream).then(
        (error) => callback(error),
        (error: Error) => callback(error),
      );
    },
  });
  server.on('error', () => {
    // Connections that were dropped on purpose end here; the records tell them.
  });
  server.server.on('connection', (socket: Socket) => {
    const { remotePort } = socket;
    if (remotePort === undefined) return;
    sockets.set(remotePort, socket);
    socket.once('close', () => sockets.delete(remotePort));
  });

  /** Answers the error to refuse the message with, or nothing where it was taken. */
  async function receive(
    session: SMTPServerSession,
    stream: NodeJS.ReadableStream,
  ): Promise<Error | null> {
    const { headers, body } = parse(await text(stream));
    const to = session.envelope.rcptTo.map(({ address }) => address);
    const correlationId = headers.get('x-correlation-id') ?? null;
    const wanted = ({ match }: MailFaultRequest): boolean =>
      match?.correlationId === undefined || match.correlationId === correlationId;
    const fault = take(to, wanted);
    if (fault?.fault === 'slow') await sleep(fault.delayMs ?? 2_500);
    if (isRefusal(fault?.fault)) return turnAway(session, fault.fault, to, correlationId);
    const message: MailMessage = {
      seq: seq + 1,
      at: Date.now(),
      from: senderOf(session),
      to,
      subject: headers.get('subject') ?? '',
      messageId: headers.get('message-id') ?? '',
      correlationId,
      body,
    };
    store({ kind: 'message', row: message });
    const silent = fault?.fault === 'drop_after_data' || !sockets.has(session.remotePort);
    record(session, {
      outcome: silent ? 'accepted_unanswered' : 'accepted',
      fault: fault?.fault ?? null,
      correlationId,
      message: message.seq,
      to,
    });
    if (fault?.fault === 'drop_after_data') drop(session);
    return null;
  }

  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    messages: () => [...messages],
    records: () => ({ system: 'mail', calls: [...calls], effects: [...messages] }),
    fault: (request) => void faults.push({ ...request, times: request.times ?? 1 }),
    clearFaults: () => void faults.splice(0),
    stop: async () => {
      for (const socket of sockets.values()) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      if (file !== undefined) closeSync(file);
    },
  };
}

function senderOf(session: SMTPServerSession): string {
  const { mailFrom } = session.envelope;
  return mailFrom === false ? '' : mailFrom.address;
}

function parse(raw: string): { readonly headers: Map<string, string>; readonly body: string } {
  const end = raw.indexOf('\r\n\r\n');
  const head = end < 0 ? raw : raw.slice(0, end);
  const unfolded = head.replaceAll(/\r\n[ \t]+/g, ' ');
  const headers = new Map<string, string>();
  for (const line of unfolded.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { headers, body: end < 0 ? '' : raw.slice(end + 4) };
}
