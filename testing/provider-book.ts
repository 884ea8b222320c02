import type { AnyTool } from '../statemachines/language/tool.ts';
import type { Action } from '../statemachines/rules/events.ts';
import type { CallFact, EffectFact, Ids, PartnerFacts } from './checker/records.ts';
import { callPolicy } from './mishaps.ts';
import { recoveryOf } from './provider-terms.ts';

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
  readonly accepted: { readonly correlationId: string; readonly ids: Ids }[];
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
  part(caller: Caller, tool: AnyTool): Part {
    const saga = `${caller.tenant}/${caller.sagaId}`;
    let parts = this.#sagas.get(saga);
    if (parts === undefined) {
      parts = new Map();
      this.#sagas.set(saga, parts);
    }
    const forward = caller.action === 'forward';
    const name = forward ? tool.name : `${tool.name} (${caller.action})`;
    let part = parts.get(name);
    if (part === undefined) {
      const { dedupe, keyTtlMs } = callPolicy(tool, caller.action);
      const ttl = keyTtlMs === undefined ? {} : { keyTtlMs };
      const recovery = forward ? recoveryOf(tool) : {};
      part = { name, dedupe, ...ttl, ...recovery, calls: [], accepted: [], effects: [] };
      parts.set(name, part);
    }
    return part;
  }

  /** Notes that a call is to be settled later, and under which ids: its effect has others. */
  accept(caller: Caller, tool: AnyTool): Ids {
    const { accepted } = this.part(caller, tool);
    const ids = { operation: `${caller.step}/${caller.action}~${accepted.length + 1}` };
    accepted.push({ correlationId: caller.correlationId, ids });
    return ids;
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

  /** The effect that an undo means: the one whose answer its arguments come from, else the first that stands. */
  undone({ tenant, sagaId, step }: Caller, args: unknown): Booked | undefined {
    const made = this.effects(tenant, sagaId).filter(
      (effect) => effect.step === step && effect.action === 'forward',
    );
    const named = leaves(args);
    return (
      made.find((effect) => leaves(effect.output).some((leaf) => named.includes(leaf))) ??
      made.find((effect) => !this.isReversed(tenant, sagaId, effect)) ??
      made[0]
    );
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
          ids: {},
          cost: null,
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

/** Texts and numbers anywhere in a value, as text. */
function leaves(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(leaves);
}
