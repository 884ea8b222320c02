import type { CallPolicy, Dedupe } from '../statemachines/language/effects.ts';
import type { Action } from '../statemachines/rules/events.ts';
import type { CallFact, EffectFact, PartnerFacts } from './checker/records.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Whose call it is. */
export interface Caller {
  readonly tenant: string;
  readonly sagaId: string;
  readonly step: string;
  readonly action: Action;
  readonly correlationId: string;
  readonly idempotencyKey: string;
}

/** An effect with what the provider answers for it. */
export interface Booked extends EffectFact {
  readonly step: string;
  readonly action: Action;
  readonly output: unknown;
}

interface Part extends PartnerFacts {
  readonly calls: Writable<CallFact>[];
  readonly effects: Booked[];
}

/**
 * The books of all simulated providers, saga by saga: what they were asked, and what they did. Kept
 * apart from everything the engine writes, so that one can be held against the other.
 */
export class ProviderBook {
  readonly #sagas = new Map<string, Map<string, Part>>();
  #effects = 0;

  /** What the provider of one tool and action notes about one saga. */
  part(caller: Caller, tool: string, call: Pick<CallPolicy, 'dedupe' | 'keyTtlMs'>): Part {
    const saga = `${caller.tenant}/${caller.sagaId}`;
    let parts = this.#sagas.get(saga);
    if (parts === undefined) {
      parts = new Map();
      this.#sagas.set(saga, parts);
    }
    const name = caller.action === 'forward' ? tool : `${tool} (${caller.action})`;
    let part = parts.get(name);
    if (part === undefined) {
      const ttl = call.keyTtlMs === undefined ? {} : { keyTtlMs: call.keyTtlMs };
      part = { name, dedupe: call.dedupe as Dedupe, ...ttl, calls: [], effects: [] };
      parts.set(name, part);
    }
    return part;
  }

  facts(tenant: string, sagaId: string): readonly PartnerFacts[] {
    return [...(this.#sagas.get(`${tenant}/${sagaId}`)?.values() ?? [])];
  }

  effects(tenant: string, sagaId: string): readonly Booked[] {
    const parts = this.#sagas.get(`${tenant}/${sagaId}`)?.values() ?? [];
    return [...parts].flatMap((part) => part.effects);
  }

  /** Every saga any provider ever heard of. */
  sagas(): readonly { readonly tenant: string; readonly sagaId: string }[] {
    return [...this.#sagas.keys()].map((name) => {
      const at = name.indexOf('/');
      return { tenant: name.slice(0, at), sagaId: name.slice(at + 1) };
    });
  }

  /** The number of the next effect. */
  next(): number {
    this.#effects += 1;
    return this.#effects;
  }

  /** A person undoes at the provider what stands of a step. */
  undoByHand(tenant: string, sagaId: string, step: string, now: number): void {
    const parts = this.#sagas.get(`${tenant}/${sagaId}`)?.values() ?? [];
    for (const part of parts) {
      for (const effect of part.effects.filter((each) => each.action === 'forward')) {
        if (effect.step !== step || this.isReversed(tenant, sagaId, effect)) continue;
        const id = `by-hand-${this.next()}`;
        part.effects.push({
          ...effect,
          id,
          at: now,
          action: 'compensate',
          correlationId: id,
          key: id,
          reverses: effect.id,
          byHand: true,
        });
      }
    }
  }

  isReversed(tenant: string, sagaId: string, effect: EffectFact): boolean {
    return this.effects(tenant, sagaId).some((other) => other.reverses === effect.id);
  }
}
