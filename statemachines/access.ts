/**
 * What a caller may be allowed. One person or agent may have several roles:
 * - `starter` starts sagas, cancels them, runs them again and gives advice
 * - `reader` reads sagas, reviews and the registry
 * - `reviewer` decides reviews
 * - `operator` resumes, runs again and erases, and sees what failed in detail
 * - `auditor` reads ledgers and verifies them
 */
export const ROLES = ['starter', 'reader', 'reviewer', 'operator', 'auditor'] as const;
export type Role = (typeof ROLES)[number];

/** The one tenant a caller acts for, and what it may do there. */
export interface Access {
  readonly tenant: string;
  readonly roles: readonly Role[];
}

export function isRole(value: unknown): value is Role {
  return ROLES.some((role) => role === value);
}

/** In UTF-8 bytes. A ledger's key holds it beside the saga's id, with room to spare. */
export const MAX_TENANT_BYTES = 256;

/** Why this cannot name a tenant; `undefined` where it can. */
export function tenantFault(tenant: unknown): string | undefined {
  if (typeof tenant !== 'string') return 'is not a text';
  if (tenant.trim() === '') return 'is empty';
  if (tenant.includes('/')) return 'holds a "/"';
  if (/[\p{Cc}\p{Cs}]/u.test(tenant)) return 'holds a control character or half a surrogate pair';
  return new TextEncoder().encode(tenant).length > MAX_TENANT_BYTES
    ? `takes more than ${MAX_TENANT_BYTES} bytes`
    : undefined;
}
