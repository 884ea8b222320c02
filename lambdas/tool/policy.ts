import type { Call } from './implementation.ts';

/** What a policy says of one forward call. */
export type Leave =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly code: string; readonly message: string };

/** The call may be made. */
export function allow(): Leave {
  return { kind: 'allowed' };
}

/**
 * The call may not be made, now or later: the saga recovers, with the reason `policy_denied`.
 * @param code short and stable, for rules and reports (`amount_over_limit`)
 */
export function deny(code: string, message: string): Leave {
  return { kind: 'denied', code, message };
}

/** What a policy is told. There is no key yet: nothing is claimed. */
export type PolicyCall = Pick<Call, 'tenant' | 'sagaId' | 'step' | 'signal'>;

/**
 * Asked before each claim of a forward call, with the arguments that would be sent. Never of a call in
 * doubt (that is asked about, whatever the policy says by now) nor of a recovery.
 */
export type Policy<Args> = (args: Args, call: PolicyCall) => Leave | Promise<Leave>;

/** What a tool's implementation says of its policy. */
export interface PolicySpec<Args> {
  readonly policy: Policy<Args>;
  /** Kept on each claim it allowed and each refusal, so that a decision can be traced to its rules. */
  readonly policyVersion: string;
}
