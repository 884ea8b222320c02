import { ambiguous, type ImplementedTool, implementTool, refused } from 'counterstep/lambda';
import { type Principal, ROLES } from '../../lambdas/service/principal.ts';
import { SagaService } from '../../lambdas/service/service.ts';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { type MemoryStores, memoryStores } from '../../lambdas/stores/memory/open.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import { openRecord } from '../../statemachines/ledger/chain.ts';
import type { StepClaimed } from '../../statemachines/rules/events.ts';
import { sagas as allSagas, chargeCard, holdStock, orderInput, sendMail } from './sagas.ts';

/** What the outside systems of a test do; each may be changed while it runs. */
export interface Outside {
  charge: 'works' | 'unknown' | 'refused';
  refund: 'works' | 'refused';
  mail: 'works' | 'refused' | 'unknown';
  /** Held stock is answered once this is through. */
  gate?: Promise<void>;
  /** Effects in the order in which they happened, with the arguments that matter. */
  readonly effects: string[];
}

/** The whole engine over stores in memory: sagas run, fail and are recovered. */
export class Live {
  readonly stores: MemoryStores = memoryStores();
  readonly outside: Outside = { charge: 'works', refund: 'works', mail: 'works', effects: [] };
  readonly #engine: Engine;
  #open: () => void = () => {};
  readonly service: SagaService;

  private constructor(
    engine: Engine,
    service: SagaService,
    stores: MemoryStores,
    outside: Outside,
  ) {
    this.#engine = engine;
    this.service = service;
    this.stores = stores;
    this.outside = outside;
  }

  static async open(sagas: readonly AnySaga[] = allSagas): Promise<Live> {
    const stores = memoryStores();
    const outside: Outside = { charge: 'works', refund: 'works', mail: 'works', effects: [] };
    const engine = await startEngine({
      sagas,
      tools: toolsOver(outside),
      stores,
      heads: stores.openHeads(),
      ledgers: () => [],
    });
    const service = new SagaService({
      host: engine.host,
      ledger: engine.ledger,
      sagas,
      index: engine.projection,
      machineOf: (saga) => engine.machines.machineOf(saga),
    });
    return new Live(engine, service, stores, outside);
  }

  /** The saga once it is in one of these states. */
  async until(
    who: Principal,
    sagaId: string,
    ...states: readonly SagaView['state'][]
  ): Promise<SagaView> {
    for (;;) {
      const saga = await this.service.get(who, sagaId);
      if (states.includes(saga.state)) return saga;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Once that moment (of a problem's `until`) is past. */
  async after(until: number | undefined): Promise<void> {
    if (until === undefined) throw new Error('the problem names no moment to wait for');
    while (Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  /** An old execution comes to life again, as at-least-once triggers make them. */
  async rerun(sagaId: string, epoch: number): Promise<void> {
    const machine = this.stores.held.ledgers
      .get(`acme/${sagaId}`)
      ?.map((record) => openRecord(record))
      .flatMap((event) => (event.type === 'saga_started' ? [event.machine] : []))[0];
    if (machine === undefined) throw new Error('no such saga');
    // A stale drive ends quietly or by name; the ledger tells what it did.
    await this.#engine.machines.run({ tenant: 'acme', sagaId, epoch, machine }).catch(() => {});
  }

  /** A saga whose charge nobody can say anything about, and the review that asks for it. */
  async heldOnCharge(key: string): Promise<{ saga: SagaView; review: string }> {
    this.outside.charge = 'unknown';
    const { id } = await this.service.start(everyone, 'order', key, JSON.stringify(orderInput));
    const saga = await this.until(everyone, id, 'needs_review');
    if (saga.review === undefined) throw new Error('no review is open');
    return { saga, review: saga.review.id };
  }

  /** A saga that ended, and of which a second charge became known afterwards. */
  async incident(key: string): Promise<SagaView> {
    const { id } = await this.service.start(everyone, 'order', key, JSON.stringify(orderInput));
    await this.until(everyone, id, 'completed');
    const events = this.stores.held.ledgers.get(`acme/${id}`)?.map((record) => openRecord(record));
    for (const event of events ?? []) {
      if (event.type === 'step_claimed' && event.step === 'charge') await this.late(id, event);
    }
    return this.until(everyone, id, 'incident');
  }

  /** A saga whose first step is under way until {@link Live.release}. */
  async slow(key: string): Promise<SagaView> {
    this.outside.gate = new Promise((resolve) => {
      this.#open = resolve;
    });
    return this.service.start(everyone, 'order', key, JSON.stringify(orderInput));
  }

  release(): void {
    delete this.outside.gate;
    this.#open();
  }

  /** A second effect of a call becomes known when nobody expects it any more. */
  async late(sagaId: string, claim: StepClaimed): Promise<void> {
    const { step, action, attempt } = claim;
    await this.#engine.ledger.write(
      { tenant: 'acme', sagaId },
      {
        kind: 'commit',
        step,
        action,
        attempt,
        attemptNonce: 'of-another-attempt',
        via: 'call',
        externalIds: { charge: 'C-2' },
        result: null,
        undo: null,
      },
      { actor: 'drive' },
    );
  }

  async close(): Promise<void> {
    await this.#engine.close();
  }
}

export const everyone: Principal = { tenant: 'acme', id: 'ada', roles: ROLES };

export function toolsOver(outside: Outside): ImplementedTool[] {
  const { effects } = outside;
  return [
    implementTool(holdStock, {
      forward: async ({ orderId }) => {
        await outside.gate;
        effects.push(`hold ${orderId}`);
        return { holdId: `H-${orderId}` };
      },
      compensate: ({ holdId }) => {
        effects.push(`release ${holdId}`);
      },
    }),
    implementTool(chargeCard, {
      forward: ({ orderId, amount }) => {
        if (outside.charge === 'refused') throw refused('card_declined', 'the card was declined');
        effects.push(`charge ${orderId} ${amount}`);
        if (outside.charge === 'unknown') throw ambiguous('lost', 'the connection was lost');
        return { chargeId: `C-${orderId}` };
      },
      compensate: ({ chargeId, amount }) => {
        if (outside.refund === 'refused') throw refused('refund_refused', 'the provider refused');
        effects.push(`refund ${chargeId} ${amount}`);
      },
    }),
    implementTool(sendMail, {
      forward: ({ email }) => {
        if (outside.mail === 'refused') throw refused('no_such_address', 'nobody there');
        effects.push(`mail ${email}`);
        if (outside.mail === 'unknown') throw ambiguous('lost', 'the connection was lost');
        return { messageId: 'M-1' };
      },
    }),
  ];
}
