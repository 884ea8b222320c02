import { setTimeout as sleep } from 'node:timers/promises';

/** The part of the API's answers that the demonstration reads. */
export interface Saga {
  readonly id: string;
  readonly state: string;
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
}

const POLL_MS = 50;
const PATIENCE_MS = 40_000;

/** Talks to the plane as any caller would. */
export class PlaneClient {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
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
    const giveUpAt = Date.now() + PATIENCE_MS;
    for (;;) {
      const saga = await this.get(id);
      if (wanted(saga)) return saga;
      if (Date.now() > giveUpAt) {
        throw new Error(`saga ${id} is still "${saga.state}": look at its ledger`);
      }
      await sleep(POLL_MS);
    }
  }

  untilEnded(id: string): Promise<Saga> {
    return this.until(id, ({ state }) =>
      ['completed', 'compensated', 'incident', 'needs_review'].includes(state),
    );
  }

  #get<T>(path: string): Promise<T> {
    return this.#answer<T>(fetch(this.url + path));
  }

  #post<T>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<T> {
    const init = {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    };
    return this.#answer<T>(fetch(this.url + path, init));
  }

  async #answer<T>(request: Promise<Response>): Promise<T> {
    const response = await request;
    if (!response.ok)
      throw new Error(`the plane answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }
}
