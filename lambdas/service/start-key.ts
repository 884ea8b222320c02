import type { AnySaga } from '../../statemachines/language/saga.ts';
import { hasLoneSurrogate } from '../../statemachines/ledger/ijson-error.ts';
import { sagaIdOf } from '../../statemachines/rules/keys.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import { nameOf } from '../runtime/thrown.ts';
import type { Principal } from './principal.ts';
import { Problem } from './problems.ts';

export const KEY_HEADER = 'Idempotency-Key';
export const MAX_KEY_LENGTH = 256;

/**
 * The caller's key, as it is: nothing is trimmed or folded, so two keys are equal or they are not.
 * @throws Problem `key-missing` or `key-invalid`
 */
export function checkedKey(key: string | undefined): string {
  const at = KEY_HEADER;
  if (key === undefined || key.trim() === '') {
    throw new Problem(
      'key-missing',
      'a start needs an idempotency key',
      `send the header ${KEY_HEADER} with a value of your own (a UUID), and the same value again if you repeat the request`,
      { at },
    );
  }
  const fault = keyFault(key);
  if (fault === undefined) return key;
  throw new Problem(
    'key-invalid',
    `the idempotency key ${fault}`,
    'use a UUID, or the hash of your own id',
    { at },
  );
}

function keyFault(key: string): string | undefined {
  if (key.length > MAX_KEY_LENGTH) {
    return `has ${key.length} characters where ${MAX_KEY_LENGTH} are allowed`;
  }
  if (/\p{Cc}/u.test(key)) return 'holds a control character';
  return hasLoneSurrogate(key) ? 'holds half of a surrogate pair' : undefined;
}

/** The key stands for another start of this caller. */
export function keyReused(): Problem {
  return new Problem(
    'key-reused',
    'this idempotency key was used before, with another body or for another saga',
    'send the first request unchanged to repeat it, or a new key to start another saga',
    { at: KEY_HEADER },
  );
}

/** Whether the saga's id stands for a business fact, or for one caller's key. */
export type StartKind = 'business' | 'key';

/**
 * Where the start's ledger is. A caller's key belongs to that principal; a business fact (one refund
 * of one order) is the same whoever starts it, so its id leaves the principal out. No key holds the
 * control character that business keys begin with: the two never meet.
 * @throws Problem where the definition's business key is none
 */
export function startId(
  principal: Principal,
  saga: AnySaga,
  key: string,
  input: unknown,
): { readonly id: LedgerId; readonly kind: StartKind } {
  const { tenant } = principal;
  const business = businessKeyOf(saga, input);
  if (business === undefined) {
    const sagaId = sagaIdOf({ tenant, principal: principal.id, name: saga.name, key });
    return { id: { tenant, sagaId }, kind: 'key' };
  }
  const sagaId = sagaIdOf({ tenant, principal: '', name: saga.name, key: `\u0000${business}` });
  return { id: { tenant, sagaId }, kind: 'business' };
}

function businessKeyOf(saga: AnySaga, input: unknown): string | undefined {
  if (saga.businessKey === undefined) return undefined;
  let key: unknown;
  try {
    key = saga.businessKey(input);
  } catch (cause) {
    const detail = `the businessKey of saga "${saga.name}" failed with ${nameOf(cause)}`;
    throw new Problem(
      'internal',
      detail,
      'it must handle every input that the schema allows: mend the definition',
      { cause },
    );
  }
  if (typeof key === 'string' && key.trim() !== '' && !hasLoneSurrogate(key)) return key;
  throw new Problem(
    'input-invalid',
    `this input gives saga "${saga.name}" no business key`,
    'send the members that name the business fact; none of them may be empty',
    { at: 'businessKey' },
  );
}
