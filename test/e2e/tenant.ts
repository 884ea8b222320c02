import { PlaneClient, type PlaneClientOptions, patient } from '../../examples/demo/plane-client.ts';
import { type Operation, operationsOf, type Request } from './every-call.ts';
import type { Headers } from './worlds.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export interface Start {
  readonly saga: 'refund' | 'order';
  readonly key: string;
  readonly input: unknown;
  /** The state that it comes to, and stays in. */
  readonly comesTo: string;
}

export interface RecordSeen {
  readonly hash: string;
  readonly event: { readonly actor: string };
}

/** A person of one tenant, with every role, and the sagas of that tenant. */
export class Tenant {
  /** Ids of the sagas that it started. */
  sagas: readonly string[] = [];
  readonly plane: PlaneClient;
  readonly #headers: Headers;

  constructor(url: string, headers: Headers, caller: Omit<PlaneClientOptions, 'headers'>) {
    this.plane = new PlaneClient(url, { ...caller, headers });
    this.#headers = headers;
  }

  /** Answers the saga's id. */
  async start({ saga, key, input }: Start): Promise<string> {
    return (await this.plane.start(saga, key, input)).id;
  }

  async send(request: Omit<Request, 'what'>): Promise<Answer> {
    const { method, path, headers, body } = request;
    const init = {
      method,
      headers: { ...headers, ...this.#headers },
      ...(body === undefined ? {} : { body }),
    };
    const response = await patient(() => fetch(`${this.plane.url}${path}`, init));
    return { status: response.status, text: await response.text() };
  }

  async get<T>(path: string): Promise<T> {
    const { status, text } = await this.send({ method: 'GET', path, headers: {} });
    if (status === 200) return JSON.parse(text) as T;
    throw new Error(`${path} was answered with ${status}: ${text}`);
  }

  async operations(): Promise<Operation[]> {
    return operationsOf(await this.get<Parameters<typeof operationsOf>[0]>('/openapi.json'));
  }

  /** Ids of reviews that wait for a person. */
  async reviews(): Promise<string[]> {
    const sagas = await Promise.all(this.sagas.map((id) => this.plane.get(id)));
    return sagas.flatMap(({ review }) => (review === undefined ? [] : [review.id]));
  }

  async records(id: string): Promise<readonly RecordSeen[]> {
    const page = await this.get<{ readonly records: readonly RecordSeen[] }>(
      `/v1/sagas/${id}/ledger?limit=1000`,
    );
    return page.records;
  }

  /** Cursors of pages that hold one entry: of both lists, and of each ledger. */
  async cursors(): Promise<string[]> {
    const paths = ['/v1/sagas', '/v1/reviews', ...this.sagas.map((id) => `/v1/sagas/${id}/ledger`)];
    const pages = paths.map((path) => this.get<{ readonly cursor?: string }>(`${path}?limit=1`));
    return (await Promise.all(pages)).flatMap(({ cursor }) =>
      cursor === undefined ? [] : [cursor],
    );
  }

  /** Whatever is this tenant's alone, so that an answer that holds one of these shows something of it. */
  async marks(): Promise<string[]> {
    const found = await Promise.all(
      this.sagas.map(async (id) => {
        const { steps } = await this.get<{
          readonly steps: readonly { readonly externalIds: Readonly<Record<string, string>> }[];
        }>(`/v1/sagas/${id}/standing`);
        const hashes = (await this.records(id)).map(({ hash }) => hash);
        return [id, ...steps.flatMap(({ externalIds }) => Object.values(externalIds)), ...hashes];
      }),
    );
    return found.flat();
  }
}
