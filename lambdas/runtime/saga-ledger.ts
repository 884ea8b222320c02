import {
  genesisHash,
  LedgerDamaged,
  openRecord,
  sealEvent,
} from '../../statemachines/ledger/chain.ts';
import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import type { Command, Verdict } from '../../statemachines/rules/commands.ts';
import { decide } from '../../statemachines/rules/decide.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { evolve } from '../../statemachines/rules/evolve.ts';
import { SKEW_MS } from '../../statemachines/rules/protocol.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import type { LedgerId, LedgerRecord } from '../ports/ledger-store.ts';
import { StoreUnavailable } from '../ports/ledger-store.ts';
import { FoldCache, type FoldedHead } from './fold-cache.ts';
import type { Host } from './host.ts';

export interface WriteOptions {
  readonly actor: string;
  /** Conflicts and lost answers are tried again until then (epoch milliseconds). Default: 10 s from now. */
  readonly deadlineAt?: number;
}

export interface Written {
  readonly verdict: Verdict;
  /** After the event, or as it was when the verdict fell. `undefined`: there is no such saga. */
  readonly state: SagaState | undefined;
}

const DEFAULT_PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;

/**
 * The one writer of ledgers: read, decide, append at `seq + 1`; where that place is taken, read on and
 * decide again. Every state change of every saga goes through {@link SagaLedger.write}.
 */
export class SagaLedger {
  readonly #host: Host;
  readonly #cache: FoldCache;

  constructor(host: Host, cache: FoldCache = new FoldCache()) {
    this.#host = host;
    this.#cache = cache;
  }

  /**
   * The saga as its ledger stands now (strongly consistent).
   * @throws LedgerDamaged where the chain does not hold; nothing may be appended to it
   * @throws StoreUnavailable
   */
  async load(id: LedgerId): Promise<SagaState | undefined> {
    return (await this.#read(id))?.state;
  }

  /**
   * Lets the rules decide and appends what they say.
   * @throws LedgerDamaged
   * @throws StoreUnavailable once `deadlineAt` has passed; the event may or may not stand
   */
  async write(id: LedgerId, command: Command, options: WriteOptions): Promise<Written> {
    const { clock, entropy } = this.#host;
    const deadlineAt = options.deadlineAt ?? clock.now() + DEFAULT_PATIENCE_MS;
    const nonce = entropy.nonce();
    let registeredAt = command.kind === 'start' ? command.event.registeredAt : undefined;
    for (let tries = 0; ; tries += 1) {
      try {
        const before = await this.#read(id);
        // An append whose answer was lost may stand after all.
        const mine =
          tries === 0 ? undefined : before?.recent.find((entry) => entry.nonce === nonce);
        if (before !== undefined && mine !== undefined) {
          return await this.#written(id, mine.event, before.state, undefined);
        }
        const head = before;
        const verdict = decide(head?.state, command, { now: clock.now(), actor: options.actor });
        if (verdict.kind !== 'append') return { verdict, state: head?.state };
        const { event } = verdict;
        registeredAt = await this.#register(id, event, head, registeredAt);
        const sealed = sealEvent(head?.hash ?? genesisHash(id.tenant, id.sagaId), event);
        const record: LedgerRecord = { ...sealed, nonce };
        const result = await this.#host.stores.ledger.append(id, record);
        if (result.kind === 'appended' || result.standing.nonce === nonce) {
          const stands = result.kind === 'appended' ? record : result.standing;
          const own = result.kind === 'appended' ? event : openRecord(stands);
          const state = evolve(head?.state, own);
          this.#cache.set(id, extend(head, state, stands.hash, [{ nonce, event: own }]));
          return await this.#written(id, own, state, head?.state);
        }
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || clock.now() >= deadlineAt) throw error;
        await clock.sleep(this.#pause(tries, error.throttled));
        continue;
      }
      if (clock.now() >= deadlineAt) {
        throw new StoreUnavailable('the ledger was too busy to append in time: try again');
      }
      if (tries > 0) await clock.sleep(this.#pause(tries, false));
    }
  }

  /** An event wakes somebody only if a due entry stands before it does (design: registry). */
  async #register(
    id: LedgerId,
    event: SagaEvent,
    head: FoldedHead | undefined,
    registeredAt: number | undefined,
  ): Promise<number | undefined> {
    const { stores, clock } = this.#host;
    if (event.type === 'saga_started') {
      if (registeredAt !== undefined && clock.now() < registeredAt - SKEW_MS) {
        await stores.registry.add({ ...id, dueAt: registeredAt });
        return registeredAt;
      }
      const dueAt = event.dueAt ?? clock.now();
      await stores.registry.add({ ...id, dueAt });
      return dueAt;
    }
    const wakes = head?.state.drive === 'parked' && event.drive === 'running';
    if (!wakes || event.dueAt === undefined) return registeredAt;
    if (registeredAt !== undefined && clock.now() < registeredAt - SKEW_MS) return registeredAt;
    await stores.registry.add({ ...id, dueAt: event.dueAt });
    return event.dueAt;
  }

  async #written(
    id: LedgerId,
    event: SagaEvent,
    state: SagaState,
    before: SagaState | undefined,
  ): Promise<Written> {
    // Without the state before, a drive may be started a second time: its name exists, so nothing happens.
    const granted = before === undefined || event.epoch > before.epoch;
    if (granted && event.drive === 'running') await this.#start(id, state);
    if (event.dueAt === undefined) await this.#unregister(id, state);
    return { verdict: { kind: 'append', event }, state };
  }

  /** Lost starts are covered by `dueAt`, so a failure here is only worth a line. */
  async #start(id: LedgerId, state: SagaState): Promise<void> {
    const { drives, log } = this.#host;
    if (drives === undefined) return;
    try {
      await drives.start({ ...id, epoch: state.epoch, machine: state.machine });
    } catch (error) {
      log.warn('drive not started; the sweep will find the saga', {
        sagaId: id.sagaId,
        epoch: state.epoch,
        error: error instanceof Error ? error.name : 'unknown',
      });
    }
  }

  async #unregister(id: LedgerId, state: SagaState): Promise<void> {
    try {
      await this.#host.stores.registry.remove({ ...id, dueAt: state.start.registeredAt });
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      // The sweep removes what points at a final saga.
    }
  }

  async #read(id: LedgerId): Promise<FoldedHead | undefined> {
    const cached = this.#cache.get(id);
    const records = await this.#host.stores.ledger.read(id, cached?.state.seq ?? 0);
    if (records.length === 0) return cached;
    let hash = cached?.hash ?? genesisHash(id.tenant, id.sagaId);
    let state = cached?.state;
    const recent: { nonce: string; event: SagaEvent }[] = [];
    for (const record of records) {
      checkLink(record, (state?.seq ?? 0) + 1, hash);
      const event = openRecord(record);
      state = evolve(state, event);
      hash = record.hash;
      recent.push({ nonce: record.nonce, event });
    }
    if (state === undefined) return undefined;
    const head = extend(cached, state, hash, recent);
    this.#cache.set(id, head);
    return head;
  }

  /** Full jitter; a throttled store gets longer pauses, never an immediate repeat. */
  #pause(tries: number, throttled: boolean): number {
    const base = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(tries, 10));
    const jitter = base * this.#host.entropy.fraction();
    return throttled ? base * 2 + jitter : jitter;
  }
}

/** Enough to find one's own record among those of a busy saga. */
const REMEMBERED = 16;

function extend(
  head: FoldedHead | undefined,
  state: SagaState,
  hash: string,
  added: FoldedHead['recent'],
): FoldedHead {
  return { state, hash, recent: [...(head?.recent ?? []), ...added].slice(-REMEMBERED) };
}

function checkLink(record: LedgerRecord, seq: number, prev: string): void {
  if (record.seq !== seq)
    throw new LedgerDamaged(seq, `record ${record.seq} stands where ${seq} belongs`);
  if (record.prev !== prev) throw new LedgerDamaged(seq, 'it does not follow the record before it');
  if (sha256Hex(record.prev, record.body) !== record.hash) {
    throw new LedgerDamaged(seq, 'its body was changed');
  }
}
