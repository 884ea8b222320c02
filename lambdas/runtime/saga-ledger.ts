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
import { DRIVE_CHECK_MS, SKEW_MS } from '../../statemachines/rules/protocol.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import type { LedgerId, LedgerRecord } from '../ports/ledger-store.ts';
import { StoreUnavailable } from '../ports/ledger-store.ts';
import { FoldCache, type FoldedHead } from './fold-cache.ts';
import type { Host } from './host.ts';

export interface WriteOptions {
  readonly actor: string;
  /** Conflicts and lost answers are tried again until then (epoch milliseconds). Default: 10 s from now. */
  readonly deadlineAt?: number;
  /** The caller has just read that there is no such saga: the first try appends without a look. */
  readonly unstarted?: true;
  /**
   * Called once the registry knows of a saga that starts, before its first event stands, and again where
   * that took too long. What it throws refuses the start. MUST be safe to repeat.
   */
  readonly admit?: () => Promise<void>;
}

export interface Written {
  readonly verdict: Verdict;
  /** After the event, or as it was when the verdict fell. `undefined`: there is no such saga. */
  readonly state: SagaState | undefined;
}

const DEFAULT_PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;
/** A drive's start that takes longer than this is not waited for. */
const START_PATIENCE_MS = 2_000;
/** What a pass of the sweep may take until it comes to a saga, and to its ledger. */
const SPARE_MS = 5_000;

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
  async write(of: LedgerId, command: Command, options: WriteOptions): Promise<Written> {
    const { clock, entropy } = this.#host;
    // Callers pass requests that hold more than the id.
    const id: LedgerId = { tenant: of.tenant, sagaId: of.sagaId };
    const deadlineAt = options.deadlineAt ?? clock.now() + DEFAULT_PATIENCE_MS;
    const nonce = entropy.nonce();
    let registeredAt = command.kind === 'start' ? command.event.registeredAt : undefined;
    for (let tries = 0; ; tries += 1) {
      try {
        const first = tries === 0;
        const known = first ? this.#cache.get(id) : undefined;
        const unread = first && options.unstarted === true;
        const head = known ?? (unread ? undefined : await this.#read(id));
        // An append whose answer was lost may stand after all.
        const mine = first ? undefined : head?.recent.find((entry) => entry.nonce === nonce);
        if (head !== undefined && mine !== undefined) {
          return await this.#written(id, mine.event, head, undefined);
        }
        const verdict = decide(head?.state, command, { now: clock.now(), actor: options.actor });
        if (verdict.kind !== 'append') {
          // A remembered fold is good enough to append on, since the append itself is conditional; to
          // say no it must be read anew.
          if (known === undefined && !unread) return { verdict, state: head?.state };
          continue;
        }
        registeredAt = await this.#register(id, verdict.event, head, registeredAt);
        if (verdict.event.type === 'saga_started') await this.#admit(options, registeredAt);
        const written = await this.#append(id, verdict, head, nonce);
        if (written !== undefined) return written;
      } catch (error) {
        if (error instanceof LedgerDamaged) this.#host.metrics?.count('DamagedLedgers');
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

  /** Nothing where another writer's event took the place. */
  async #append(
    id: LedgerId,
    verdict: Extract<Verdict, { kind: 'append' }>,
    head: FoldedHead | undefined,
    nonce: string,
  ): Promise<Written | undefined> {
    const { event } = verdict;
    const sealed = sealEvent(head?.hash ?? genesisHash(id.tenant, id.sagaId), event);
    const record: LedgerRecord = { ...sealed, nonce };
    const result = await this.#host.stores.ledger.append(id, record);
    if (result.kind === 'conflict' && result.standing.nonce !== nonce) {
      this.#host.metrics?.count('AppendConflicts');
      return undefined;
    }
    const same = result.kind === 'appended' || result.standing.hash === record.hash;
    const stands = result.kind === 'appended' ? record : result.standing;
    const own = same ? event : openRecord(stands);
    const state = same ? verdict.after : evolve(head?.state, own);
    const next = extend(head, state, stands.hash, [{ nonce, event: own }]);
    this.#cache.set(id, next);
    return this.#written(id, own, next, head?.state);
  }

  /** The sweep takes a start for one that came to nothing once its entry is due: then it is too late. */
  async #admit(
    { admit }: Pick<WriteOptions, 'admit'>,
    registeredAt: number | undefined,
  ): Promise<void> {
    if (admit === undefined) return;
    await admit();
    if (this.#host.clock.now() < (registeredAt ?? 0) - SKEW_MS) return;
    throw new StoreUnavailable('to charge the saga took too long: start it again');
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
    // The drive may park for sooner than its present due time, a lease's end: it is looked at by then. A
    // pass that comes just before takes a minute to come again, and time to get there: hence the spare.
    const dueAt = Math.min(event.dueAt, clock.now() + DRIVE_CHECK_MS - SPARE_MS);
    await stores.registry.add({ ...id, dueAt });
    return dueAt;
  }

  async #written(
    id: LedgerId,
    event: SagaEvent,
    head: FoldedHead,
    before: SagaState | undefined,
  ): Promise<Written> {
    const { state } = head;
    this.#host.appended?.(id, event, head.hash);
    if (event.type === 'step_committed' && event.overshoot !== undefined) {
      this.#host.metrics?.count('RecoveryOvershoots');
    }
    // Without the state before, a drive may be started a second time: its name exists, so nothing happens.
    const granted = before === undefined || event.epoch > before.epoch;
    if (granted && event.drive === 'running') await this.#start(id, state);
    if (event.dueAt === undefined) await this.#close(id, event, state);
    return { verdict: { kind: 'append', event, after: state }, state };
  }

  /**
   * Lost starts are covered by `dueAt`, so a failure here is only worth a line. A slow one is not
   * waited for either: whoever wrote the event gets its answer, and the start goes on beside it.
   */
  async #start(id: LedgerId, state: SagaState): Promise<void> {
    const { drives, log, clock } = this.#host;
    if (drives === undefined) return;
    const begin = async (): Promise<void> => {
      try {
        await drives.start({ ...id, epoch: state.epoch, machine: state.machine });
      } catch (error) {
        log.warn('drive not started; the sweep will find the saga', {
          sagaId: id.sagaId,
          epoch: state.epoch,
          error: error instanceof Error ? error.name : 'unknown',
        });
      }
    };
    let forget = (): void => {};
    const patience = new Promise<void>((resolve) => {
      forget = clock.timer(START_PATIENCE_MS, resolve);
    });
    await Promise.race([begin(), patience]);
    forget();
  }

  /** Gives back what the saga held. The entry goes last: by it the sweep finds what was lost here. */
  async #close(id: LedgerId, event: SagaEvent, state: SagaState): Promise<void> {
    const { registry, budgets } = this.#host.stores;
    try {
      if (state.start.charged === true && ENDS.includes(event.type)) await budgets.giveBack(id);
      await registry.remove({ ...id, dueAt: state.start.registeredAt });
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      // The sweep gives back for a final saga, and removes what points at it.
    }
  }

  async #read(id: LedgerId): Promise<FoldedHead | undefined> {
    // The anchor first: the ledger grows, and what is read afterwards reaches at least this far.
    const anchor = this.#host.anchor?.(id);
    const cached = this.#cache.get(id);
    const records = await this.#host.stores.ledger.read(id, cached?.state.seq ?? 0);
    if (anchor !== undefined) checkAnchor(anchor, records, cached?.state.seq ?? 0);
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

/** The events that end a saga; what comes after them finds it at its end. */
const ENDS: readonly SagaEvent['type'][] = [
  'saga_completed',
  'saga_compensated',
  'incident_opened',
];

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

/** A tail that was cut leaves a shorter chain that holds by itself: only the noted head shows it. */
function checkAnchor(
  anchor: { readonly seq: number; readonly hash: string },
  records: readonly LedgerRecord[],
  known: number,
): void {
  const reached = records.at(-1)?.seq ?? known;
  if (reached < anchor.seq) {
    throw new LedgerDamaged(reached + 1, `it is gone: the ledger had ${anchor.seq} records`);
  }
  const noted = records.find((record) => record.seq === anchor.seq);
  if (noted !== undefined && noted.hash !== anchor.hash) {
    throw new LedgerDamaged(anchor.seq, 'it is not the record that was noted there');
  }
}

function checkLink(record: LedgerRecord, seq: number, prev: string): void {
  if (record.seq !== seq)
    throw new LedgerDamaged(seq, `record ${record.seq} stands where ${seq} belongs`);
  if (record.prev !== prev) throw new LedgerDamaged(seq, 'it does not follow the record before it');
  if (sha256Hex(record.prev, record.body) !== record.hash) {
    throw new LedgerDamaged(seq, 'its body was changed');
  }
}
