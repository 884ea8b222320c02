import { openRecord } from '../../statemachines/ledger/chain.ts';
import type { Anchor, InvalidChain } from '../../statemachines/ledger/verify.ts';
import type { AdoptedStep, SagaEvent } from '../../statemachines/rules/events.ts';
import type { LedgerId, LedgerRecord } from '../ports/ledger-store.ts';
import type { Parts } from './parts.ts';

/** What a saga adopts names events of the ledger before by their hashes: each of the two holds the other. */

/**
 * What the saga that goes on with this one's work knows of this ledger: kept in another ledger, it
 * shows a chain that was written anew, however well that agrees with itself.
 */
export async function knownToSuccessor(
  parts: Parts,
  id: LedgerId,
  records: readonly LedgerRecord[],
): Promise<Anchor[]> {
  const claims = eventsIn(records).flatMap((event) =>
    event.type === 'rerun_claimed' ? [event.saga] : [],
  );
  const successor = claims.at(-1);
  if (successor === undefined) return [];
  const adopted = await adoptedBy(parts, { tenant: id.tenant, sagaId: successor }, id.sagaId);
  const last = lastOf(adopted);
  return last === undefined
    ? []
    : [{ name: `saga ${successor}`, exists: true, seq: last.seq, hash: last.hash }];
}

export interface Adoption {
  /** The saga before. */
  readonly previous: string;
  /** Where what was adopted is not what stands there. */
  readonly problem: InvalidChain | undefined;
}

/** Whether what this saga adopted stands in the ledger before. Nothing where it adopted nothing. */
export async function checkAdoption(
  parts: Parts,
  id: LedgerId,
  records: readonly LedgerRecord[],
): Promise<Adoption | undefined> {
  const [first] = eventsIn(records.slice(0, 1));
  if (first?.type !== 'saga_started' || first.previous === undefined) return undefined;
  const { adopted = [], previous } = first;
  if (adopted.length === 0) return undefined;
  const before = { tenant: id.tenant, sagaId: previous };
  const hashes = new Map(
    (await parts.host.stores.ledger.read(before)).map(({ seq, hash }) => [seq, hash]),
  );
  const wrong = adopted.find(({ seq, hash }) => hashes.get(seq) !== hash);
  if (wrong === undefined) return { previous, problem: undefined };
  const problem: InvalidChain = {
    kind: 'invalid',
    problem: 'rewritten',
    seq: 1,
    explanation: `step "${wrong.step}" was adopted from record ${wrong.seq} of saga ${previous}, which is not what stands there now: one of the two ledgers was written anew`,
    verified: undefined,
  };
  return { previous, problem };
}

async function adoptedBy(
  parts: Parts,
  id: LedgerId,
  previous: string,
): Promise<readonly AdoptedStep[]> {
  const [first] = eventsIn((await parts.host.stores.ledger.read(id)).slice(0, 1));
  if (first?.type !== 'saga_started' || first.previous !== previous) return [];
  return first.adopted ?? [];
}

function lastOf(adopted: readonly AdoptedStep[]): AdoptedStep | undefined {
  return [...adopted].sort((left, right) => left.seq - right.seq).at(-1);
}

/** Records that cannot be read as events are the chain's own matter. */
function eventsIn(records: readonly LedgerRecord[]): SagaEvent[] {
  return records.flatMap((record) => {
    try {
      return [openRecord(record)];
    } catch {
      return [];
    }
  });
}
