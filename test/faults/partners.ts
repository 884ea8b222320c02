import { issueCreditNote, reserveStock, sendEmail } from '../../examples/refund/contracts.ts';
import { absent, committed } from '../../lambdas/tool/answers.ts';
import { ambiguous, refused, retryable } from '../../lambdas/tool/failures.ts';
import {
  type Call,
  type ImplementedTool,
  implementTool,
} from '../../lambdas/tool/implementation.ts';
import type { PartnerFacts } from '../support/checker.ts';
import { never, type VirtualTime } from '../support/virtual-clock.ts';

/** The partner operations of a refund. Those that only read are asked by `reconcile`. */
export const OPERATIONS = {
  reserve: { partner: 'stock', writes: true },
  release: { partner: 'stock', writes: true },
  create: { partner: 'erp', writes: true },
  cancel: { partner: 'erp', writes: true },
  lookup: { partner: 'erp', writes: false },
  send: { partner: 'mail', writes: true },
} as const;
export type Operation = keyof typeof OPERATIONS;

/** What goes wrong with one call. The names and meanings are those of `examples/partners`. */
export type PartnerFault =
  | 'refuse'
  | 'throttle'
  | 'drop_before'
  | 'commit_then_drop'
  /** Never answered; takes effect after the caller has given up, inside the settle window. */
  | 'commit_late'
  /** Never answered, and nothing happens. */
  | 'hang';

/** Decides about the nth call (from 1) of an operation. */
export type Behaviour = (operation: Operation, nth: number) => PartnerFault | undefined;

/** One moment of one call to a partner. Throwing loses the answer; `never()` leaves the caller hanging. */
export type OnPartnerCall = (
  operation: Operation,
  phase: 'before' | 'after',
) => void | Promise<void>;

const LATE_MS = 2_500;

type Partner = (typeof OPERATIONS)[Operation]['partner'];
type Facts = {
  -readonly [K in keyof PartnerFacts]: PartnerFacts[K] extends readonly (infer E)[]
    ? E[]
    : PartnerFacts[K];
};
type CallFact = PartnerFacts['calls'][number];

/**
 * In-memory stand-ins of the refund's partners, held to what `examples/partners` does: stock remembers
 * keys, the accounts ignore keys and can be searched, mail can do neither. They outlive any engine.
 */
export class RefundPartners {
  readonly #time: VirtualTime;
  readonly #behaviour: Behaviour;
  readonly #counts = new Map<Operation, number>();
  readonly #facts: Record<Partner, Facts> = {
    stock: { name: 'stock', dedupe: 'key', calls: [], effects: [] },
    erp: { name: 'erp', dedupe: 'lookup', calls: [], effects: [] },
    mail: { name: 'mail', dedupe: 'none', calls: [], effects: [] },
  };

  constructor(time: VirtualTime, behaviour: Behaviour) {
    this.#time = time;
    this.#behaviour = behaviour;
  }

  facts(): readonly PartnerFacts[] {
    return Object.values(this.#facts);
  }

  /** The tools of one engine. `onCall` stands between that engine and the partners. */
  tools(onCall: OnPartnerCall): ImplementedTool[] {
    const via = <T>(operation: Operation, call: Call, effect: () => T): Promise<T> =>
      this.#serve(operation, call, onCall, effect);
    return [
      implementTool(reserveStock, {
        forward: (args, call) =>
          via('reserve', call, () => ({
            reservationId: this.#keyed('RES', call, undefined),
            quantity: args.quantity,
          })),
        compensate: async (args, call) => {
          await via('release', call, () => this.#keyed('REL', call, args.reservationId));
        },
      }),
      implementTool(issueCreditNote, {
        forward: (args, call) =>
          via('create', call, () => ({
            creditNoteId: this.#plain('erp', 'CN', call, undefined),
            amountMinor: args.amountMinor,
            currency: args.currency,
          })),
        compensate: async (args, call) => {
          const id = await via('cancel', call, () =>
            this.#plain('erp', 'CX', call, args.creditNoteId),
          );
          return committed(undefined, { externalIds: { cancellation: id } });
        },
        reconcile: async (question, call) => {
          const found = await via('lookup', call, () =>
            this.#facts.erp.effects.find(
              (effect) => effect.correlationId === question.correlationId,
            ),
          );
          if (found === undefined) return absent();
          if (question.action !== 'forward') {
            return committed(undefined, { externalIds: { cancellation: found.id } });
          }
          return committed({ creditNoteId: found.id, amountMinor: 1_250, currency: 'EUR' });
        },
      }),
      implementTool(sendEmail, {
        forward: (_args, call) =>
          via('send', call, () => ({ messageId: this.#plain('mail', 'MSG', call, undefined) })),
      }),
    ];
  }

  async #serve<T>(
    operation: Operation,
    call: Call,
    onCall: OnPartnerCall,
    effect: () => T,
  ): Promise<T> {
    const { partner, writes } = OPERATIONS[operation];
    const nth = (this.#counts.get(operation) ?? 0) + 1;
    const lost = writes ? ambiguous : retryable;
    try {
      await onCall(operation, 'before');
    } catch {
      throw lost('connection_lost', 'the connection was lost');
    }
    this.#counts.set(operation, nth);
    const record = (answer: CallFact['answer']): void => {
      const { correlationId, idempotencyKey } = call;
      this.#facts[partner].calls.push({
        at: this.#time.now(),
        operation,
        writes,
        correlationId,
        key: idempotencyKey,
        answer,
      });
    };
    const fault = this.#behaviour(operation, nth);
    // Who honours keys gives a known one its first answer again, whatever it would say to a new one.
    const replays = fault === 'refuse' && partner === 'stock' && this.#known(call) !== undefined;
    switch (replays ? undefined : fault) {
      case 'refuse':
        record('nothing');
        throw refused('refused_by_partner', 'the partner refuses');
      case 'throttle':
        record('nothing');
        throw retryable('too_many_requests', 'ask again later', { retryAfterMs: 1_000 });
      case 'drop_before':
        record('lost');
        throw lost('connection_lost', 'the connection was lost');
      case 'commit_then_drop':
        record('lost');
        effect();
        throw lost('connection_lost', 'the connection was lost');
      case 'commit_late':
        record('lost');
        this.#time.world.timer(LATE_MS, effect);
        return never();
      case 'hang':
        record('lost');
        return never();
      default:
    }
    const answer = effect();
    try {
      await onCall(operation, 'after');
    } catch {
      record('lost');
      throw lost('connection_lost', 'the connection was lost');
    }
    record('done');
    return answer;
  }

  #known(call: Call): string | undefined {
    return this.#facts.stock.effects.find((effect) => effect.key === call.idempotencyKey)?.id;
  }

  /** An effect at a partner that remembers keys. */
  #keyed(prefix: string, call: Call, reverses: string | undefined): string {
    const known = this.#known(call);
    if (known !== undefined) return known;
    if (
      this.#facts.stock.effects.some(
        (effect) => reverses !== undefined && effect.reverses === reverses,
      )
    ) {
      throw refused('already_released', 'released under another key');
    }
    return this.#plain('stock', prefix, call, reverses);
  }

  #plain(partner: Partner, prefix: string, call: Call, reverses: string | undefined): string {
    const { effects } = this.#facts[partner];
    if (reverses !== undefined && !effects.some((effect) => effect.id === reverses)) {
      throw refused('unknown', 'there is nothing to undo');
    }
    const id = `${prefix}-${effects.length + 1}`;
    effects.push({
      id,
      at: this.#time.now(),
      correlationId: call.correlationId,
      key: call.idempotencyKey,
      ...(reverses === undefined ? {} : { reverses }),
    });
    return id;
  }
}
