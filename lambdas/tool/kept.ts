import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import { wellFormed } from '../../statemachines/ledger/ijson-error.ts';
import type { Cost, ExternalIds } from '../../statemachines/rules/events.ts';
import type { Pending } from './answers.ts';

/**
 * What an implementation says beside its result, made fit for an event. Nothing it says may keep an
 * outcome out of the ledger: what cannot be kept as it is is shortened, or left out.
 */

/** Ids of real systems are far shorter; an event with a few of them stays near one write unit. */
const MAX_ID_LENGTH = 200;
const MAX_IDS = 16;
/** Codes are names for rules and reports; some providers answer a sentence in their place. */
export const MAX_CODE_LENGTH = 100;
/** Kept free after a question (to a provider, to a policy) for recording its answer. */
export const RECORDING_MS = 300;
/** A provider that wishes for more time than this is asked after it all the same. */
export const MAX_WISH_MS = 86_400_000;

/** A longer id is kept as its hash, so that the same id is still known as the same. */
export function keptIds(ids: unknown): ExternalIds {
  if (typeof ids !== 'object' || ids === null) return {};
  const kept: Record<string, string> = {};
  for (const [name, id] of Object.entries(ids).slice(0, MAX_IDS)) {
    if (typeof id !== 'string' && typeof id !== 'number') continue;
    kept[short(name)] = short(String(id));
  }
  return kept;
}

function short(text: string): string {
  const whole = wellFormed(text);
  return whole.length <= MAX_ID_LENGTH ? whole : `sha256:${sha256Hex(whole)}`;
}

export function keptCost(cost: unknown): Cost | undefined {
  if (typeof cost !== 'object' || cost === null) return undefined;
  const { costMinor, currency } = cost as { readonly [K in keyof Cost]?: unknown };
  if (!Number.isSafeInteger(costMinor) || typeof currency !== 'string') return undefined;
  return /^[A-Z]{3}$/.test(currency) ? { costMinor: costMinor as number, currency } : undefined;
}

/** Whole milliseconds, or nothing. */
export function keptWish(ms: unknown): number | undefined {
  if (typeof ms !== 'number' || Number.isNaN(ms) || ms <= 0) return undefined;
  return Math.ceil(Math.min(ms, MAX_WISH_MS));
}

/** What a `pending` answer says beside being one. */
export function keptPending(answer: unknown): {
  readonly externalIds?: ExternalIds;
  readonly askAgainInMs?: number;
} {
  const { externalIds, askAgainInMs } = answer as Pending;
  const wish = keptWish(askAgainInMs);
  return {
    ...(externalIds === undefined ? {} : { externalIds: keptIds(externalIds) }),
    ...(wish === undefined ? {} : { askAgainInMs: wish }),
  };
}
