import type { Stores } from '../lambdas/ports/stores.ts';

export interface Counts {
  ledgerWrites: number;
  otherWrites: number;
  requests: number;
  bytes: number;
}

/** Counts what passes; changes nothing. */
export function countingStores(stores: Stores): {
  readonly stores: Stores;
  readonly counts: Counts;
} {
  const counts: Counts = { ledgerWrites: 0, otherWrites: 0, requests: 0, bytes: 0 };
  const request = <T>(work: () => T): T => {
    counts.requests += 1;
    return work();
  };
  const otherWrite = <T>(work: () => T): T => {
    counts.otherWrites += 1;
    return request(work);
  };
  return {
    counts,
    stores: {
      ledger: {
        append: async (id, record) => {
          const result = await request(() => stores.ledger.append(id, record));
          if (result.kind === 'appended') {
            counts.ledgerWrites += 1;
            counts.bytes += Buffer.byteLength(JSON.stringify(record));
          }
          return result;
        },
        read: (id, afterSeq) => request(() => stores.ledger.read(id, afterSeq)),
        head: (id) => request(() => stores.ledger.head(id)),
      },
      payloads: {
        put: (id, text) => otherWrite(() => stores.payloads.put(id, text)),
        get: (id, digest) => request(() => stores.payloads.get(id, digest)),
        erase: (id) => otherWrite(() => stores.payloads.erase(id)),
      },
      registry: {
        add: (entry) => otherWrite(() => stores.registry.add(entry)),
        remove: (entry) => otherWrite(() => stores.registry.remove(entry)),
        due: (until, limit, cursor) => request(() => stores.registry.due(until, limit, cursor)),
      },
      budgets: {
        charge: (charge, budget) => otherWrite(() => stores.budgets.charge(charge, budget)),
        giveBack: (id) => otherWrite(() => stores.budgets.giveBack(id)),
        isCharged: (id) => request(() => stores.budgets.isCharged(id)),
        usage: (tenant) => request(() => stores.budgets.usage(tenant)),
      },
      breakers: {
        append: (tool, record) => otherWrite(() => stores.breakers.append(tool, record)),
        head: (tool) => request(() => stores.breakers.head(tool)),
      },
    },
  };
}
