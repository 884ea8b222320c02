import { LEDGER_TIME_MS } from '../../statemachines/asl/timeouts.ts';
import type { BreakerPolicy } from '../../statemachines/language/breaker-policy.ts';
import type { CallPolicy } from '../../statemachines/language/effects.ts';
import type { AnyTool } from '../../statemachines/language/tool.ts';
import {
  type Breaker,
  type BreakerCommand,
  type BreakerEvent,
  type BreakerVerdict,
  decideBreaker,
  evolveBreaker,
} from '../../statemachines/rules/breaker.ts';
import type { FailureClass } from '../../statemachines/rules/events.ts';
import { StoreUnavailable } from '../ports/ledger-store.ts';
import { readBreaker, sealBreaker } from '../runtime/breaker-record.ts';
import type { Host } from '../runtime/host.ts';

/** May a call be made, as far as the tool's breaker is concerned? */
export type Door =
  | OpenDoor
  /** Not before then (epoch milliseconds). */
  | { readonly kind: 'refused'; readonly until: number };

export interface OpenDoor {
  readonly kind: 'open';
  /** What became of the call. MUST be said at most once; unsaid, no call was made. */
  heard(call: Heard): void;
  /** Tells the breaker. Never throws: what became of the call stands in the saga's ledger by now. */
  leave(): Promise<void>;
}

export type Heard =
  | { readonly kind: 'worked' }
  | { readonly kind: 'failed'; readonly code: string };

/** Failures of these classes say that the provider is not well; any other is an answer of it. */
export function heardOf(failure: FailureClass, code: string): Heard {
  return failure === 'retryable' || failure === 'ambiguous'
    ? { kind: 'failed', code }
    : { kind: 'worked' };
}

/** A state this old is read anew before it is acted on. */
const FRESH_MS = 1_000;
/** Appends that find another's event in their place, before the breaker is left as it is. */
const MAX_CONFLICTS = 20;
/** Sagas that wait come back over this share of the time that the breaker is open, not all at once. */
const SPREAD = 0.25;
const MAX_SPREAD_MS = 60_000;

const NO_BREAKER: OpenDoor = { kind: 'open', heard: () => {}, leave: async () => {} };

/**
 * One process's view of its tool's breaker. While the breaker is closed and calls work it writes
 * nothing, and reads once a second at most. Where its store does not answer, calls pass: the breaker
 * only spares a provider, and keeps nothing right.
 */
export class ToolBreaker {
  readonly #tool: string;
  readonly #policy: BreakerPolicy | undefined;
  readonly #host: Host;
  #known: { readonly breaker: Breaker; readonly readAt: number } | undefined;

  constructor(tool: AnyTool, host: Host) {
    this.#tool = tool.name;
    this.#policy = tool.breaker;
    this.#host = host;
  }

  async admit(call: CallPolicy): Promise<Door> {
    const policy = this.#policy;
    if (policy === undefined) return NO_BREAKER;
    const probe = this.#host.entropy.nonce();
    // Longer than the attempt's own lease, since its claim is yet to come.
    const leaseMs = call.timeoutMs + LEDGER_TIME_MS;
    try {
      const verdict = await this.#decide(policy, { kind: 'admit', probe, leaseMs });
      if (verdict.kind === 'refused') {
        return { kind: 'refused', until: verdict.until + this.#spread(policy) };
      }
      return this.#door(policy, verdict.kind === 'append' ? probe : undefined);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#host.log.warn('the breaker could not be asked, so the call passes', {
        tool: this.#tool,
      });
      return this.#door(policy, undefined);
    }
  }

  #door(policy: BreakerPolicy, probe: string | undefined): OpenDoor {
    let heard: Heard | undefined;
    return {
      kind: 'open',
      heard: (call) => {
        heard = call;
      },
      leave: () => this.#tell(policy, commandOf(heard, probe)),
    };
  }

  async #tell(policy: BreakerPolicy, command: BreakerCommand | undefined): Promise<void> {
    if (command === undefined) return;
    try {
      await this.#decide(policy, command);
    } catch (error) {
      this.#host.log.warn('the breaker was not told of a call', {
        tool: this.#tool,
        call: command.kind,
        error: error instanceof Error ? error.name : 'unknown',
      });
    }
  }

  /** Reads, decides, appends; where the place is taken, reads on and decides again. */
  async #decide(policy: BreakerPolicy, command: BreakerCommand): Promise<BreakerVerdict> {
    const { stores, clock, entropy } = this.#host;
    const nonce = entropy.nonce();
    for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
      const breaker = await this.#read();
      const verdict = decideBreaker(breaker, command, policy, clock.now());
      if (verdict.kind !== 'append') return verdict;
      const { event } = verdict;
      const result = await stores.breakers.append(this.#tool, sealBreaker(event, nonce));
      if (result.kind === 'appended' || result.standing.nonce === nonce) {
        this.#know(evolveBreaker(breaker, event));
        this.#note(event);
        return verdict;
      }
      this.#known = undefined;
    }
    throw new StoreUnavailable('the breaker changes too fast to be written');
  }

  async #read(): Promise<Breaker> {
    const now = this.#host.clock.now();
    const known = this.#known;
    if (known !== undefined && now < known.readAt + FRESH_MS) return known.breaker;
    const breaker = await readBreaker(this.#host.stores.breakers, this.#tool);
    this.#know(breaker);
    return breaker;
  }

  #know(breaker: Breaker): void {
    const known = this.#known;
    if (known !== undefined && known.breaker.seq > breaker.seq) return;
    this.#known = { breaker, readAt: this.#host.clock.now() };
  }

  #note({ type, at, after, code }: BreakerEvent): void {
    const { log, metrics } = this.#host;
    const tool = this.#tool;
    if (type === 'breaker_closed') log.info('the breaker is closed again', { tool });
    // A probe that fails opens it again, which is nothing new.
    if (type !== 'breaker_opened' || after.kind !== 'open' || after.since !== at) return;
    log.warn('the breaker opened: no call is made for a while', { tool, code, until: after.until });
    metrics?.count('BreakersOpened');
  }

  #spread({ openMs }: BreakerPolicy): number {
    const widest = Math.min(MAX_SPREAD_MS, openMs * SPREAD);
    return Math.round(widest * this.#host.entropy.fraction());
  }
}

function commandOf(
  heard: Heard | undefined,
  probe: string | undefined,
): BreakerCommand | undefined {
  if (heard !== undefined) return probe === undefined ? heard : { ...heard, probe };
  return probe === undefined ? undefined : { kind: 'return', probe };
}
