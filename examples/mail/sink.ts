import { Mailbox, type MailFaultRequest, type MailMessage, type MailRecords } from './mailbox.ts';
import { openSes } from './ses.ts';
import { openSmtp } from './smtp.ts';

export interface MailSink {
  readonly port: number;
  /** `smtp://127.0.0.1:<port>` */
  readonly url: string;
  /** Takes SES's call `SendEmail`: `http://127.0.0.1:<another port>` */
  readonly sesUrl: string;
  messages(): readonly MailMessage[];
  records(): MailRecords;
  /** Switches a fault on. */
  fault(request: MailFaultRequest): void;
  clearFaults(): void;
  stop(): Promise<void>;
}

export interface MailSinkOptions {
  /** For SMTP. Default: a free one. */
  readonly port?: number;
  /** For SES. Default: a free one. */
  readonly sesPort?: number;
  /** Keeps everything as NDJSON, on disk before a delivery is answered; read again at the next start. */
  readonly file?: string;
}

/** Starts a mail server on this machine that keeps every message and sends none on. It speaks SMTP and SES. */
export async function startMailSink(options: MailSinkOptions = {}): Promise<MailSink> {
  const mailbox = new Mailbox(options.file);
  const smtp = await openSmtp(mailbox, options.port ?? 0);
  const ses = await openSes(mailbox, options.sesPort ?? 0);
  return {
    port: smtp.port,
    url: `smtp://127.0.0.1:${smtp.port}`,
    sesUrl: `http://127.0.0.1:${ses.port}`,
    messages: () => mailbox.messages(),
    records: () => mailbox.records(),
    fault: (request) => mailbox.fault(request),
    clearFaults: () => mailbox.clearFaults(),
    stop: async () => {
      await smtp.stop();
      await ses.stop();
      mailbox.close();
    },
  };
}
