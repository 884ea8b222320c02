import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import { ledgerKey } from '../lambdas/ports/ledger-store.ts';
import type { ImplementedTool } from '../lambdas/tool/implementation.ts';
import { allow, deny, type Leave, type PolicyCall } from '../lambdas/tool/policy.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';
import { never } from './virtual-time.ts';

/** What a policy may answer in place of its leave. */
export const POLICY_MISHAPS = ['denies', 'throws', 'is_silent', 'answers_nonsense'] as const;
export type PolicyMishap = (typeof POLICY_MISHAPS)[number];

export interface PolicyQuestion extends LedgerId {
  readonly step: string;
  /** Counts the questions about this step, from 1. */
  readonly nth: number;
}

export interface PolicyOptions {
  /** Tools that have a policy. */
  readonly tools: ReadonlySet<string>;
  mishap(question: PolicyQuestion): PolicyMishap | undefined;
}

interface Book {
  asked: number;
  allowed: number;
}

const POLICY_VERSION = 'simulated-1';

/** Policies beside the providers, with a book of their own: what they were asked, and what they allowed. */
export class Policies {
  readonly #options: PolicyOptions;
  readonly #books = new Map<string, Map<string, Book>>();

  constructor(options: PolicyOptions) {
    this.#options = options;
  }

  /** The tool, with a policy where it has one. */
  guard(tool: ImplementedTool): ImplementedTool {
    if (!this.#options.tools.has(tool.contract.name)) return tool;
    const policy = (_args: unknown, call: PolicyCall): Leave | Promise<Leave> => this.#ask(call);
    return { ...tool, policy: { policy, policyVersion: POLICY_VERSION } };
  }

  #ask({ tenant, sagaId, step }: PolicyCall): Leave | Promise<Leave> {
    const book = this.#book({ tenant, sagaId }, step);
    book.asked += 1;
    switch (this.#options.mishap({ tenant, sagaId, step, nth: book.asked })) {
      case undefined:
        book.allowed += 1;
        return allow();
      case 'denies':
        return deny('not_allowed', 'the policy does not allow it');
      case 'throws':
        throw new Error('injected: the policy failed');
      case 'is_silent':
        return never();
      case 'answers_nonsense':
        return 'yes' as unknown as Leave;
    }
  }

  #book(id: LedgerId, step: string): Book {
    const key = ledgerKey(id);
    let steps = this.#books.get(key);
    if (steps === undefined) {
      steps = new Map();
      this.#books.set(key, steps);
    }
    const known = steps.get(step);
    if (known !== undefined) return known;
    const fresh = { asked: 0, allowed: 0 };
    steps.set(step, fresh);
    return fresh;
  }

  /**
   * Claims that no policy allowed: each one names the policy that did, and none does so twice. What may
   * have happened already is sent again whatever the policy says by now.
   */
  findings(id: LedgerId, events: readonly SagaEvent[]): string[] {
    if (this.#options.tools.size === 0) return [];
    const found: string[] = [];
    const claimed = new Map<string, number>();
    /** Attempts that may have taken effect, by step. */
    const unclear = new Map<string, Set<unknown>>();
    for (const event of events) {
      if (!('action' in event) || event.action !== 'forward' || event.step === undefined) continue;
      const { step } = event;
      const open = unclear.get(step) ?? new Set();
      unclear.set(step, open);
      if (event.type !== 'step_claimed') {
        if (event.type === 'step_failed') open.delete(event.attemptNonce);
        if ('answer' in event && event.answer === 'absent') open.clear();
        continue;
      }
      const first = open.size === 0;
      open.add(event.attemptNonce);
      if (!this.#options.tools.has(event.tool)) continue;
      if (event.policyVersion === undefined) {
        if (first)
          found.push(`5: claim ${event.seq} of ${step} was made without asking its policy`);
        continue;
      }
      const count = (claimed.get(step) ?? 0) + 1;
      claimed.set(step, count);
      const { allowed } = this.#book(id, step);
      if (count > allowed)
        found.push(`5: claim ${event.seq} of ${step} is more than its policy allowed (${allowed})`);
    }
    return found;
  }
}
