import { setTimeout as sleep } from 'node:timers/promises';

/** The part of the API's answers that the demonstration reads. */
export interface Saga {
  readonly id: string;
  readonly state: string;
  /** Whether the start was a repeat of an earlier one. */
  readonly replayed?: boolean;
  readonly drive: { readonly state: string; readonly epoch: number };
  readonly review?: { readonly id: string; readonly reason: string; readonly explanation: string };
}

export interface Standing {
  readonly summary: string;
  readonly clear: boolean;
  readonly steps: readonly {
    readonly step: string;
    readonly standing: string;
    readonly words: string;
    readonly externalIds: Readonly<Record<string, string>>;
  }[];
}

export interface Verification {
  readonly verdict: string;
  readonly events?: number;
  readonly head?: { readonly seq: number; readonly hash: string };
  readonly checkedAgainst: readonly string[];
}

export interface LedgerEvent {
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly state: string;
  readonly epoch: number;
  readonly step?: string;
  readonly action?: string;
  readonly attempt?: number;
  readonly via?: string;
  readonly reason?: string;
  readonly code?: string;
  readonly answer?: string;
  /** Of event 1: what the saga began with. */
  readonly version?: string;
  readonly sagaType?: string;
  /** Where the drives of the saga run, from this event on. */
  readonly machine?: string;
  /** When somebody must look at the saga next, epoch milliseconds. */
  readonly dueAt?: number;
}

export interface PlaneClientOptions {
  /** Sent with every request: credentials. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default 50 ms. */
  readonly pollMs?: number;
  /** How long a saga may take to where it is waited for. Default 40 s. */
  readonly patienceMs?: number;
}

/** Talks to the plane as any caller would. */
export class PlaneClient {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #pollMs: number;
  readonly #patienceMs: number;

  constructor(url: string, options: PlaneClientOptions = {}) {
    this.url = url;
    this.#headers = options.headers ?? {};
    this.#pollMs = options.pollMs ?? 50;
    this.#patienceMs = options.patienceMs ?? 40_000;
  }

  start(saga: string, key: string, input: unknown): Promise<Saga> {
    return this.#post<Saga>(`/v1/sagas/${saga}`, input, { 'idempotency-key': key });
  }

  get(id: string): Promise<Saga> {
    return this.#get<Saga>(`/v1/sagas/${id}`);
  }

  resume(id: string): Promise<Saga> {
    return this.#post<Saga>(`/v1/sagas/${id}/resume`, {});
  }

  standing(id: string): Promise<Standing> {
    return this.#get<Standing>(`/v1/sagas/${id}/standing`);
  }

  verification(id: string): Promise<Verification> {
    return this.#get<Verification>(`/v1/sagas/${id}/verification`);
  }

  async events(id: string): Promise<LedgerEvent[]> {
    const events: LedgerEvent[] = [];
    let cursor = '';
    do {
      const page = await this.#get<{
        readonly records: readonly { readonly event: LedgerEvent }[];
        readonly cursor?: string;
      }>(`/v1/sagas/${id}/ledger${cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`}`);
      events.push(...page.records.map((record) => record.event));
      cursor = page.cursor ?? '';
    } while (cursor !== '');
    return events;
  }

  /** Waits until the saga satisfies `wanted`. @throws Error with its last state where it never does */
  async until(id: string, wanted: (saga: Saga) => boolean): Promise<Saga> {
    const giveUpAt = Date.now() + this.#patienceMs;
    for (;;) {
      const saga = await this.get(id);
      if (wanted(saga)) return saga;
      if (Date.now() > giveUpAt) {
        throw new Error(`saga ${id} is still "${saga.state}": look at its ledger`);
      }
      await sleep(this.#pollMs);
    }
  }

  untilEnded(id: string): Promise<Saga> {
    return this.until(id, ({ state }) =>
      ['completed', 'compensated', 'incident', 'needs_review'].includes(state),
    );
  }

  #get<T>(path: string): Promise<T> {
    return this.#answer<T>(path, { headers: this.#headers });
  }

  #post<T>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<T> {
    return this.#answer<T>(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...this.#headers, ...headers },
    });
  }

  async #answer<T>(path: string, init: RequestInit): Promise<T> {
    const response = await patient(() => fetch(this.url + path, init));
    if (!response.ok)
      throw new Error(`the plane answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }
}

/** Answers by which the plane, or the gateway before it, asks for the same request once more. */
const TRY_AGAIN = [429, 503];
const TRIES = 6;
const PAUSE_MS = 1_000;

/** Sends the same request again where it was not served in time; a start has its key, so that is safe. */
export async function patient(send: () => Promise<Response>): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const response = await send();
    if (tries === TRIES || !TRY_AGAIN.includes(response.status)) return response;
    await response.body?.cancel();
    await sleep(PAUSE_MS * tries);
  }
}
