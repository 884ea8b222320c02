export const ROLES = ['starter', 'reader', 'reviewer', 'operator', 'auditor'] as const;
export type Role = (typeof ROLES)[number];

/** Who asks. Always from the authenticated caller, never from the request (invariant 8). */
export interface Principal {
  readonly tenant: string;
  /** Stable id of the person, agent or service; part of the saga's id. */
  readonly id: string;
  readonly roles: readonly Role[];
}
