import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import type { VirtualPlane } from '../support/virtual-plane.ts';
import type { Behaviour, Operation, PartnerFault } from './partners.ts';
import type { Scenario } from './world.ts';

/** `first` and `second` strike that call only, `always` every other one. */
interface Calls {
  readonly first?: PartnerFault;
  readonly second?: PartnerFault;
  readonly always?: PartnerFault;
}
type Plan = Partial<Record<Operation, Calls>>;

function behaviour(plan: Plan): Behaviour {
  return (operation, nth) => {
    const wanted = plan[operation];
    const named = nth === 1 ? wanted?.first : nth === 2 ? wanted?.second : undefined;
    return named ?? wanted?.always;
  };
}

function scenario(name: string, ends: Scenario['ends'], plan: Plan): Scenario {
  return { name, ends, behaviour: behaviour(plan) };
}

const REFUSED_AT_THE_END: Plan = { send: { always: 'refuse' } };

/** The saga goes forward, whatever its partners do. */
export const FORWARD: readonly Scenario[] = [
  scenario('happy', 'completed', {}),
  scenario('stock answer lost', 'completed', { reserve: { first: 'commit_then_drop' } }),
  scenario('stock lands late', 'completed', { reserve: { first: 'commit_late' } }),
  scenario('stock silent', 'completed', { reserve: { first: 'hang' } }),
  scenario('stock lands late, its repeat is refused', 'completed', {
    reserve: { first: 'commit_late', second: 'refuse' },
  }),
  scenario('stock throttles', 'completed', { reserve: { first: 'throttle' } }),
  {
    ends: 'completed',
    name: 'stock answer lost, then throttles beyond its tries',
    behaviour: (operation, nth) => {
      if (operation !== 'reserve' || nth > 7) return undefined;
      return nth === 1 ? 'commit_then_drop' : 'throttle';
    },
  },
  scenario('credit answer lost', 'completed', { create: { first: 'commit_then_drop' } }),
  scenario('credit lands late', 'completed', { create: { first: 'commit_late' } }),
  scenario('credit silent', 'completed', { create: { first: 'hang' } }),
  scenario('credit request lost', 'completed', { create: { first: 'drop_before' } }),
  scenario('accounts cannot be asked at first', 'completed', {
    create: { first: 'commit_then_drop' },
    lookup: { first: 'hang' },
  }),
  scenario('mail answer lost', 'needs_review', { send: { first: 'commit_then_drop' } }),
  scenario('mail lands late', 'needs_review', { send: { first: 'commit_late' } }),
  scenario('mail throttles', 'completed', { send: { first: 'throttle' } }),
];

/** Something is refused for good, or asked back, and what was done is undone. */
export const RECOVERY: readonly Scenario[] = [
  scenario('stock refuses', 'compensated', { reserve: { always: 'refuse' } }),
  scenario('credit refuses', 'compensated', { create: { always: 'refuse' } }),
  scenario('mail refuses', 'compensated', REFUSED_AT_THE_END),
  {
    ends: 'compensated',
    // Where a fault leaves a call in doubt, it is sent again until the partner has time for it.
    mayEnd: ['completed'],
    name: 'stock throttles beyond its tries',
    behaviour: (operation, nth) => (operation === 'reserve' && nth <= 12 ? 'throttle' : undefined),
  },
  scenario('mail throttles for ever', 'compensated', { send: { always: 'throttle' } }),
  scenario('release refused', 'needs_review', {
    ...REFUSED_AT_THE_END,
    release: { always: 'refuse' },
  }),
  scenario('cancellation refused', 'needs_review', {
    ...REFUSED_AT_THE_END,
    cancel: { always: 'refuse' },
  }),
  scenario('release answer lost', 'compensated', {
    ...REFUSED_AT_THE_END,
    release: { first: 'commit_then_drop' },
  }),
  scenario('release lands late', 'compensated', {
    ...REFUSED_AT_THE_END,
    release: { first: 'commit_late' },
  }),
  scenario('release lands late, its repeat is refused', 'compensated', {
    ...REFUSED_AT_THE_END,
    release: { first: 'commit_late', second: 'refuse' },
  }),
  scenario('cancellation answer lost', 'compensated', {
    ...REFUSED_AT_THE_END,
    cancel: { first: 'commit_then_drop' },
  }),
  scenario('cancellation lands late', 'compensated', {
    ...REFUSED_AT_THE_END,
    cancel: { first: 'commit_late' },
  }),
  scenario('cancellation throttles', 'compensated', {
    ...REFUSED_AT_THE_END,
    cancel: { first: 'throttle' },
  }),
  {
    ends: 'compensated',
    name: 'cancelled while credit lands late',
    behaviour: behaviour({ create: { first: 'commit_late' } }),
    meanwhile: cancel,
  },
  {
    ends: 'needs_review',
    name: 'cancelled while mail lands late',
    behaviour: behaviour({ send: { first: 'commit_late' } }),
    meanwhile: cancel,
  },
  {
    ends: 'needs_review',
    name: 'cancelled while stock is silent',
    behaviour: behaviour({ reserve: { first: 'hang' } }),
    meanwhile: cancel,
  },
];

/** Asks for recovery one second after the start, while the call that tells nothing is under way. */
async function cancel(plane: VirtualPlane, id: LedgerId): Promise<void> {
  await plane.time.world.sleep(1_000);
  const command = { kind: 'cancel', reason: 'no longer wanted' } as const;
  await plane.insist((engine) => engine.ledger.write(id, command, { actor: 'ada' }));
}
