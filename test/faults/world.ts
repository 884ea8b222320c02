import { refund } from '../../examples/refund/saga.ts';
import type { LedgerId, LedgerRecord } from '../../lambdas/ports/ledger-store.ts';
import type { SagaStatus } from '../../statemachines/rules/events.ts';
import { check, type PartnerFacts } from '../support/checker.ts';
import { never, VirtualTime } from '../support/virtual-clock.ts';
import { type FaultMode, VirtualPlane } from '../support/virtual-plane.ts';
import { type Behaviour, type Operation, RefundPartners } from './partners.ts';

export interface Scenario {
  readonly name: string;
  /** Where it comes to rest without any fault. */
  readonly ends: SagaStatus;
  /** Where else a fault may lead it. */
  readonly mayEnd?: readonly SagaStatus[];
  readonly behaviour: Behaviour;
  /** Acts from outside while the saga runs (a cancel request). */
  readonly meanwhile?: (
    plane: VirtualPlane,
    id: LedgerId,
    partners: () => readonly PartnerFacts[],
  ) => Promise<void>;
  /** A person answers reviews: only an end is rest. */
  readonly toTheEnd?: true;
}

/** Where one fault strikes: the nth store call or the nth partner call of a run, before or after its effect. */
export interface Fault {
  readonly at: 'store' | 'partner';
  readonly index: number;
  readonly phase: 'before' | 'after';
  readonly mode: FaultMode;
}

export interface Ran {
  readonly end: SagaStatus | 'moving' | 'never started';
  /** Why a person was asked, or why it is an incident. */
  readonly reason: string;
  readonly findings: readonly string[];
  readonly storeCalls: number;
  readonly partnerCalls: number;
  /** Partner calls that came to their answer. */
  readonly answered: ReadonlySet<number>;
  /** From the start to its rest, in virtual milliseconds. */
  readonly tookMs: number;
  readonly struck: boolean;
  /** What the checker was given. */
  readonly evidence: {
    readonly id: LedgerId;
    readonly records: readonly LedgerRecord[];
    readonly partners: readonly PartnerFacts[];
  };
  readonly events: readonly string[];
  /** Steps that the open review is about. */
  readonly reviewed: readonly string[];
}

const INPUT = {
  orderId: 'A-17',
  email: 'ada@example.com',
  sku: 'KETTLE',
  quantity: 1,
  amountMinor: 1_250,
  currency: 'EUR',
  reason: 'broken',
};

/** By then every saga has come to rest by itself: patience with a provider lasts a day. */
const BOUND_MS = 26 * 3_600_000;
/** After its rest: whatever is still on its way arrives, and a wrong end would show. */
const AFTERGLOW_MS = 20_000;

/** One saga, one scenario, at most one fault; then the checker. */
export async function run(scenario: Scenario, fault?: Fault): Promise<Ran> {
  const time = new VirtualTime();
  let struck = false;
  const ran = await time.use(() =>
    play(time, scenario, (at, index, phase) => {
      if (fault?.at !== at || fault.index !== index || fault.phase !== phase) return undefined;
      struck = true;
      return fault.mode;
    }),
  );
  return { ...ran, struck };
}

/** Decides at every moment of every call. */
export type Strike = (
  at: Fault['at'],
  index: number,
  phase: Fault['phase'],
) => FaultMode | undefined;

/** The same with any number of faults. */
export async function runWith(scenario: Scenario, time: VirtualTime, strike: Strike): Promise<Ran> {
  return time.use(() => play(time, scenario, strike));
}

async function play(time: VirtualTime, scenario: Scenario, strikes: Strike): Promise<Ran> {
  const partners = new RefundPartners(time, scenario.behaviour);
  let partnerCalls = 0;
  let storeCalls = 0;
  const answered = new Set<number>();
  const plane = new VirtualPlane({
    sagas: [refund],
    time,
    onStoreCall: (call) => {
      storeCalls = call.index;
      return strikes('store', call.index, call.phase);
    },
    tools: (process) => {
      let index = 0;
      return partners.tools((_operation: Operation, phase) => {
        if (phase === 'before') {
          partnerCalls += 1;
          index = partnerCalls;
        }
        if (phase === 'after') answered.add(index);
        if (process.dead) return never();
        return plane.strike(strikes('partner', index, phase));
      });
    },
  });
  await plane.up();
  let id: LedgerId | undefined;
  const startedAt = time.now();
  void plane.start(refund, 'key-1', INPUT).then(async (started) => {
    id = started;
    await scenario.meanwhile?.(plane, started, () => partners.facts());
  });
  const rested = await time.run(
    () => id !== undefined && plane.rests(id, scenario.toTheEnd),
    startedAt + BOUND_MS,
  );
  const tookMs = time.now() - startedAt;
  const counted = { storeCalls, partnerCalls, answered: new Set(answered) };
  await time.run(() => false, time.now() + AFTERGLOW_MS);
  if (id === undefined) {
    return {
      end: 'never started',
      reason: '',
      findings: ['12: the start was never answered'],
      ...counted,
      tookMs,
      struck: true,
      evidence: { id: { tenant: '', sagaId: '' }, records: [], partners: partners.facts() },
      events: [],
      reviewed: [],
    };
  }
  const state = plane.state(id);
  const records = plane.stores.held.ledgers.get(`${id.tenant}/${id.sagaId}`) ?? [];
  const findings = check(id, records, partners.facts());
  if (!rested) findings.push('12: the saga did not come to rest by itself');
  const { review } = state ?? {};
  if (review?.reason === 'unknown_outcome' && review.steps.includes('credit')) {
    findings.push('4: a person is asked about the accounts, which could be asked themselves');
  }
  return {
    end: rested ? (state?.status ?? 'moving') : 'moving',
    reason: state?.review?.reason ?? state?.incident?.reason ?? '',
    findings,
    ...counted,
    tookMs,
    struck: true,
    evidence: { id, records, partners: partners.facts() },
    reviewed: state?.review?.steps ?? [],
    events: plane.events(id).map((event) => {
      const { seq, at, type, state: status, drive, epoch, dueAt } = event;
      const rest = Object.entries(event)
        .filter(([name]) =>
          ['step', 'action', 'reason', 'attempt', 'answer', 'code', 'round', 'askAt'].includes(
            name,
          ),
        )
        .map(([name, value]) => `${name}=${String(value)}`)
        .join(' ');
      return `${seq} +${at - startedAt} ${type} [${status} ${drive} e${epoch} due+${dueAt === undefined ? '-' : dueAt - startedAt}] ${rest}`;
    }),
  };
}
