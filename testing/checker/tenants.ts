import { eventsIn, type LedgerName, type PartnerFacts, type StoredRecord } from './records.ts';

/**
 * Invariant 8 over many ledgers: no provider was called for a saga that has none, no key or correlation
 * id serves two sagas, and no ledger holds an id that a provider gave for another one.
 */
export function checkTenants(
  ledgers: readonly {
    readonly id: LedgerName;
    readonly records: readonly StoredRecord[];
    readonly partners: readonly PartnerFacts[];
  }[],
  known: readonly LedgerName[],
): string[] {
  const found: string[] = [];
  const names = new Set(ledgers.map(({ id }) => nameOf(id)));
  for (const saga of known) {
    if (!names.has(nameOf(saga)))
      found.push(`8: providers were called for ${nameOf(saga)}, which has no ledger`);
  }
  const owners = new Map<string, string>();
  for (const { id, records, partners } of ledgers) {
    const owner = nameOf(id);
    const own = (what: string): void => {
      const before = owners.get(what);
      if (before !== undefined && before !== owner)
        found.push(`8: ${what} belongs to ${before} and to ${owner}`);
      owners.set(what, owner);
    };
    for (const claim of eventsIn(records)) {
      if (claim.type !== 'step_claimed') continue;
      own(`key ${String(claim.key)}`);
      own(`correlation id ${String(claim.correlationId)}`);
    }
    for (const partner of partners) {
      for (const effect of partner.effects) own(`effect ${effect.id}`);
    }
  }
  return found;
}

function nameOf(id: LedgerName): string {
  return `${id.tenant}/${id.sagaId}`;
}
