import { openRecord } from '../../statemachines/ledger/chain.ts';
import { type Anchor, type Verdict, verifyChain } from '../../statemachines/ledger/verify.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { wasFinal } from '../../statemachines/rules/evolve.ts';
import type { LedgerId, LedgerRecord } from '../ports/ledger-store.ts';
import type { Tampering } from '../ports/saga-index.ts';
import { checkAdoption, knownToSuccessor } from './adopted.ts';
import { demand, ledgerIdOf, type Parts, sagaUnknown } from './parts.ts';
import type { Principal } from './principal.ts';
import { iso, type VerificationView } from './wire.ts';

/** Registry entries looked through for one saga; in a longer registry it says nothing. */
const MAX_ENTRIES = 5_000;
const ENTRIES_PER_PAGE = 1_000;

/**
 * The chain's verdict, held against what is known apart from it. What it was held against is named
 * in the answer; an anchor that could not be had is not.
 * @throws Problem
 */
export async function verifySaga(
  parts: Parts,
  principal: Principal,
  sagaId: string,
): Promise<VerificationView> {
  demand(principal, 'auditor', 'operator');
  const id = ledgerIdOf(principal, sagaId);
  let verdict = await verdictOn(parts, id);
  // The saga may have ended between the two reads; a cut tail is cut the second time too.
  if (verdict.kind === 'invalid' && verdict.problem === 'cut_tail')
    verdict = await verdictOn(parts, id);
  const checkedAt = iso(parts.host.clock.now());
  const { tampered } = verdict;
  // A chain that was mended verifies again; that somebody touched it stays known.
  const marked = tampered === undefined ? {} : { tampered: { ...tampered, at: iso(tampered.at) } };
  switch (verdict.kind) {
    case 'absent':
      throw sagaUnknown();
    case 'valid': {
      const { seq, hash, events } = verdict;
      const checkedAgainst = [...verdict.checkedAgainst];
      const head = { seq, hash };
      return { sagaId, verdict: 'valid', checkedAt, head, events, checkedAgainst, ...marked };
    }
    case 'invalid':
      return {
        sagaId,
        verdict: 'invalid',
        checkedAt,
        ...(verdict.verified === undefined ? {} : { head: { ...verdict.verified } }),
        problem: verdict.problem,
        seq: verdict.seq,
        explanation: verdict.explanation,
        checkedAgainst: verdict.anchors,
        ...marked,
      };
  }
}

type Held = Verdict & { readonly anchors: string[]; readonly tampered?: Tampering };

/** Anchors are read before the records: a ledger only grows. */
async function verdictOn(parts: Parts, id: LedgerId): Promise<Held> {
  const anchors: Anchor[] = [];
  const noted = await parts.index.head(id.tenant, id.sagaId);
  if (noted !== undefined) {
    const { seq, hash } = noted;
    const known = hash === undefined ? { seq } : { seq, hash };
    anchors.push({ name: 'projection', exists: true, ...known });
  }
  const registered = await isRegistered(parts, id);
  if (registered !== undefined) anchors.push({ name: 'registry', registered });
  const records = await parts.host.stores.ledger.read(id);
  anchors.push(...(await knownToSuccessor(parts, id, records)));
  const verdict = verifyChain(id, records, anchors);
  const names = anchors.map((anchor) => anchor.name);
  const tampered = noted?.tampered === undefined ? {} : { tampered: noted.tampered };
  const adoption = verdict.kind === 'valid' ? await checkAdoption(parts, id, records) : undefined;
  if (verdict.kind !== 'valid' || adoption === undefined) {
    return { ...verdict, anchors: names, ...tampered };
  }
  const { previous, problem } = adoption;
  const checkedAgainst = [...verdict.checkedAgainst, `saga ${previous}`];
  return { ...(problem ?? { ...verdict, checkedAgainst }), anchors: checkedAgainst, ...tampered };
}

/**
 * Whether anybody would still look at the saga; `undefined` where that cannot be told, or where the
 * ledger ends in a final state and so needs no entry.
 */
async function isRegistered(parts: Parts, id: LedgerId): Promise<boolean | undefined> {
  const { ledger, registry } = parts.host.stores;
  const head = await ledger.head(id);
  if (head === undefined || endsFinal(head)) return undefined;
  let cursor: string | undefined;
  for (let seen = 0; seen < MAX_ENTRIES; seen += ENTRIES_PER_PAGE) {
    const page = await registry.due(Number.POSITIVE_INFINITY, ENTRIES_PER_PAGE, cursor);
    const mine = page.entries.some(
      (entry) => entry.tenant === id.tenant && entry.sagaId === id.sagaId,
    );
    if (mine) return true;
    if (page.cursor === undefined) return false;
    cursor = page.cursor;
  }
  return undefined;
}

function endsFinal(head: LedgerRecord): boolean {
  try {
    const last: SagaEvent = openRecord(head);
    return wasFinal(last);
  } catch {
    // Unreadable: the chain's own verdict says so.
    return true;
  }
}
