import type { Access } from '../../statemachines/access.ts';

export { ROLES, type Role } from '../../statemachines/access.ts';

/** Who asks. Always from the authenticated caller, never from the request (invariant 8). */
export interface Principal extends Access {
  /** Stable id of the person, agent or service; part of the saga's id. */
  readonly id: string;
}
