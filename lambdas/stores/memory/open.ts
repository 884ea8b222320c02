import { type Entropy, systemEntropy } from '../../ports/entropy.ts';
import type { Heads } from '../../ports/heads.ts';
import type { Stores } from '../../ports/stores.ts';
import { type MemoryBreakers, memoryBreakers } from './breakers.ts';
import { type MemoryBudgets, memoryBudgets } from './budgets.ts';
import { memoryHeads } from './heads.ts';
import { type MemoryLedgers, memoryLedger } from './ledger.ts';
import { type MemoryPayloads, memoryPayloads } from './payloads.ts';
import { type MemoryRegistry, memoryRegistry } from './registry.ts';

export interface MemoryStores extends Stores {
  openHeads(): Heads;
  /** What the stores hold, for a simulation that inspects it, cuts a tail or damages a payload. */
  readonly held: {
    readonly ledgers: MemoryLedgers;
    readonly payloads: MemoryPayloads;
    readonly registry: MemoryRegistry;
    readonly budgets: MemoryBudgets;
    readonly breakers: MemoryBreakers;
  };
}

/**
 * Stores that live and die with the process. Each operation takes effect when it is called and
 * answers in the next microtask; no timer is set, so a run repeats exactly under a given entropy.
 */
export function memoryStores(options: { readonly entropy?: Entropy } = {}): MemoryStores {
  const held = {
    ledgers: new Map() as MemoryLedgers,
    payloads: new Map() as MemoryPayloads,
    registry: new Set() as MemoryRegistry,
    budgets: new Map() as MemoryBudgets,
    breakers: new Map() as MemoryBreakers,
  };
  const heads = memoryHeads();
  return {
    ledger: memoryLedger(held.ledgers),
    payloads: memoryPayloads(held.payloads, options.entropy ?? systemEntropy),
    registry: memoryRegistry(held.registry),
    budgets: memoryBudgets(held.budgets),
    breakers: memoryBreakers(held.breakers),
    openHeads: () => heads,
    held,
  };
}
