import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

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

type Line =
  | { readonly kind: 'call'; readonly row: MailCall }
  | { readonly kind: 'message'; readonly row: MailMessage };

/** What the sink took, what became of each attempt, and the faults that are switched on. */
export class Mailbox {
  readonly #calls: MailCall[] = [];
  readonly #messages: MailMessage[] = [];
  readonly #faults: (MailFaultRequest & { times: number })[] = [];
  readonly #file: number | undefined;
  #seq = 0;

  /** With a file, everything is NDJSON there before it counts, and what stands there is read first. */
  constructor(file: string | undefined) {
    if (file === undefined) return;
    if (existsSync(file)) {
      for (const line of readFileSync(file, 'utf8').split('\n')) {
        if (line !== '') this.#keep(JSON.parse(line) as Line);
      }
    }
    this.#file = openSync(file, 'a');
  }

  messages(): readonly MailMessage[] {
    return [...this.#messages];
  }

  records(): MailRecords {
    return { system: 'mail', calls: [...this.#calls], effects: [...this.#messages] };
  }

  accept(message: Omit<MailMessage, 'seq' | 'at'>): MailMessage {
    const row = { seq: this.#seq + 1, at: Date.now(), ...message };
    this.#store({ kind: 'message', row });
    return row;
  }

  record(call: Omit<MailCall, 'seq' | 'at'>): void {
    this.#store({ kind: 'call', row: { seq: this.#seq + 1, at: Date.now(), ...call } });
  }

  /** Switches a fault on. */
  fault(request: MailFaultRequest): void {
    this.#faults.push({ ...request, times: request.times ?? 1 });
  }

  clearFaults(): void {
    this.#faults.splice(0);
  }

  /** The oldest fault for one of these recipients that is wanted now; it counts down. */
  take(
    to: readonly string[],
    wanted: (fault: MailFaultRequest) => boolean,
  ): MailFaultRequest | undefined {
    const fault = this.#faults.find(
      (one) => (one.match?.to === undefined || to.includes(one.match.to)) && wanted(one),
    );
    if (fault === undefined) return undefined;
    fault.times -= 1;
    if (fault.times === 0) this.#faults.splice(this.#faults.indexOf(fault), 1);
    return fault;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  #store(line: Line): void {
    if (this.#file !== undefined) {
      writeSync(this.#file, `${JSON.stringify(line)}\n`);
      fsyncSync(this.#file);
    }
    this.#keep(line);
  }

  #keep(line: Line): void {
    if (line.kind === 'call') this.#calls.push(line.row);
    else this.#messages.push(line.row);
    this.#seq = Math.max(this.#seq, line.row.seq);
  }
}
