import { type LedgerId, ledgerKey } from '../lambdas/ports/ledger-store.ts';
import { cancelSaga, eraseSaga, resumeSaga, suggest } from '../lambdas/service/change.ts';
import type { Problem } from '../lambdas/service/problems.ts';
import { getSaga } from '../lambdas/service/read.ts';
import { rerunSaga } from '../lambdas/service/rerun.ts';
import { startSaga } from '../lambdas/service/start.ts';
import { exampleOf } from './example.ts';
import { fitOf, takeoverFinding } from './person.ts';
import { isRefusal, type SimulatedPlane } from './plane.ts';
import type { Request, Started } from './strikes.ts';

/** Follows a start's key where the same business fact is started under another one. */
export const OTHER_KEY = '/other';

const CANCEL = '{"reason":"no longer wanted"}';
/** A claim on a saga's work that came to nothing is over by then. */
const MOST_ASKS = 3;
const SPARE_MS = 5_000;

type Ask = Parameters<SimulatedPlane['ask']>[1];

/** Whoever asks for something from outside, and knows which answers there may be. */
export class Outsiders {
  readonly #plane: SimulatedPlane;
  readonly #broken: (finding: string) => void;

  constructor(plane: SimulatedPlane, broken: (finding: string) => void) {
    this.#plane = plane;
    this.#broken = broken;
  }

  async request(kind: Request, id: LedgerId, started: Started): Promise<void> {
    const { sagaId, tenant } = id;
    switch (kind) {
      case 'abort':
        return this.#plane.abort(id);
      case 'repeat_start':
        return this.#sameStart(id, started, started.key);
      case 'start_other_key':
        if (started.saga.businessKey === undefined) return undefined;
        return this.#sameStart(id, started, started.key + OTHER_KEY);
      case 'start_other_body':
        return this.#otherBody(started);
      case 'cancel':
        return this.#ask(tenant, (parts, who) => cancelSaga(parts, who, sagaId, CANCEL));
      case 'cancel_everything':
        return this.#ask(tenant, (parts, who) =>
          cancelSaga(parts, who, sagaId, '{"reason":"all of it was wrong","everything":true}'),
        );
      case 'resume':
        return this.#ask(tenant, (parts, who) => resumeSaga(parts, who, sagaId, '{}'));
      case 'resume_latest':
        return this.#takeOver(id);
      case 'suggest':
        return this.#ask(tenant, (parts, who) =>
          suggest(parts, who, sagaId, '{"advice":"look at the provider first"}'),
        );
      case 'erase':
        return this.#ask(tenant, (parts, who) =>
          eraseSaga(parts, who, sagaId, '{"reason":"asked for"}'),
        );
      case 'stranger':
        return this.#stranger(id);
    }
  }

  /** Asks for a saga to be run again until the answer is final. */
  async rerun({ tenant, sagaId }: LedgerId, key: string): Promise<void> {
    for (let asks = 0; asks < MOST_ASKS; asks += 1) {
      const refusal = await this.#refusal(
        this.#plane.ask(tenant, (parts, who) =>
          rerunSaga(parts, who, sagaId, `${key}: ${sagaId}`, '{}'),
        ),
      );
      if (refusal?.until === undefined) return;
      const { time } = this.#plane;
      await time.world.sleep(Math.max(0, refusal.until - time.now()) + SPARE_MS);
    }
  }

  async #ask(tenant: string, question: Ask): Promise<void> {
    await this.#refusal(this.#plane.ask(tenant, question));
  }

  async #refusal(asked: Promise<unknown>): Promise<Problem | undefined> {
    try {
      await asked;
      return undefined;
    } catch (error) {
      if (isRefusal(error)) return error;
      throw error;
    }
  }

  /** The same start is the same saga, whoever of two that come at once is first. */
  async #sameStart(id: LedgerId, { saga, input, tenant }: Started, key: string): Promise<void> {
    const answered = await this.#plane.start(saga.name, key, input, tenant);
    if (ledgerKey(answered) !== ledgerKey(id))
      this.#broken(`4: one start made ${ledgerKey(id)} and ${ledgerKey(answered)}`);
  }

  async #otherBody({ saga, key, input, tenant }: Started): Promise<void> {
    const other = exampleOf(saga.input, 'the input', { number: 7_777_777 });
    if (saga.businessKey !== undefined || JSON.stringify(other) === JSON.stringify(input)) return;
    const body = JSON.stringify(other);
    const refusal = await this.#refusal(
      this.#plane.ask(tenant, (parts, who) => startSaga(parts, who, saga.name, key, body)),
    );
    if (refusal?.type !== 'key-reused')
      this.#broken(
        `4: another body under key ${key} was not refused (${refusal?.type ?? 'taken'})`,
      );
  }

  async #takeOver(id: LedgerId): Promise<void> {
    const before = fitOf(this.#plane, id);
    const refusal = await this.#refusal(
      this.#plane.ask(id.tenant, (parts, who) =>
        resumeSaga(parts, who, id.sagaId, '{"machine":"latest"}'),
      ),
    );
    const finding = takeoverFinding(id, refusal, before, fitOf(this.#plane, id));
    if (finding !== undefined) this.#broken(finding);
  }

  /** Another tenant who knows the id learns nothing by it, and moves nothing. */
  async #stranger({ tenant, sagaId }: LedgerId): Promise<void> {
    const asked: readonly Ask[] = [
      (parts, who) => getSaga(parts, who, sagaId),
      (parts, who) => cancelSaga(parts, who, sagaId, CANCEL),
      (parts, who) => resumeSaga(parts, who, sagaId, '{}'),
      (parts, who) => rerunSaga(parts, who, sagaId, 'stolen', '{}'),
      (parts, who) => eraseSaga(parts, who, sagaId, '{"reason":"spite"}'),
    ];
    for (const question of asked) {
      const refusal = await this.#refusal(this.#plane.ask(`not-${tenant}`, question));
      if (refusal?.type !== 'saga-unknown')
        this.#broken(
          `8: a stranger was answered ${refusal?.type ?? 'as its owner'} about ${sagaId}`,
        );
    }
  }
}
