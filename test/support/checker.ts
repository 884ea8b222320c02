import { createHash } from 'node:crypto';

/**
 * Holds a ledger against the partners' own records. Independent of the engine: it shares no code with
 * it and knows only the stored format and the numbered invariants of the design. It never repairs and
 * never guesses; each finding is one line that begins with the number of the invariant it breaks.
 */

/** A ledger entry as stored. */
export interface StoredRecord {
  readonly seq: number;
  readonly body: string;
  readonly prev: string;
  readonly hash: string;
}

/** What one partner says about itself. */
export interface PartnerFacts {
  readonly name: string;
  /** What it can do about repeats, as its contract declares. */
  readonly dedupe: 'key' | 'lookup' | 'none';
  readonly calls: readonly {
    readonly at: number;
    readonly operation: string;
    /** False: it only reads. */
    readonly writes: boolean;
    readonly correlationId: string;
    readonly key: string;
    /** `nothing`: the caller was clearly told that nothing was done. `lost`: it was told nothing. */
    readonly answer: 'done' | 'nothing' | 'lost';
  }[];
  readonly effects: readonly {
    readonly id: string;
    readonly at: number;
    readonly correlationId: string;
    readonly key: string;
    /** Id of the effect that this one undoes. */
    readonly reverses?: string;
  }[];
}

interface Event {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly state: string;
  readonly drive: string;
  readonly epoch: number;
  readonly dueAt?: number;
  readonly [member: string]: unknown;
}

/** One step and action, as the events tell it. */
interface Ledgered {
  readonly step: string;
  readonly action: string;
  readonly claims: Event[];
  /** Nonces of attempts whose outcome stands, with the event. */
  readonly outcomes: Map<string, Event>;
  committed: Event | undefined;
  /** The step whose undo only leaves a mark counts as recovered by it. */
  correlationId: string | undefined;
}

const FINAL = ['completed', 'compensated', 'incident'];
const AFTER_THE_END = ['late_evidence', 'review_decided', 'payloads_erased', 'suggestion_recorded'];
/** How far two clocks may differ, by the protocol. */
const SKEW_MS = 2_000;

/**
 * Every way in which ledger and partners contradict the invariants. Empty: none.
 * Without partners the ledger is held against itself alone.
 */
export function check(
  ledger: { readonly tenant: string; readonly sagaId: string },
  records: readonly StoredRecord[],
  partners?: readonly PartnerFacts[],
): string[] {
  const found: string[] = [];
  const events = chain(ledger, records, found);
  // What follows presumes that the events are what was written.
  if (found.length > 0) return found;
  const first = events[0];
  if (first === undefined) {
    if (partners?.some((partner) => partner.effects.length > 0))
      found.push('9: an effect without a ledger');
    return found;
  }
  if (first.tenant !== ledger.tenant || first.sagaId !== ledger.sagaId) {
    found.push('8: event 1 names another tenant or saga');
  }
  heads(events, found);
  const actions = attempts(events, found);
  recoveryOrder(events, actions, found);
  endings(events, actions, found);
  if (partners !== undefined) effects(events, actions, partners, found);
  return found;
}

/** Invariant 11, with an implementation of its own. */
function chain(
  ledger: { readonly tenant: string; readonly sagaId: string },
  records: readonly StoredRecord[],
  found: string[],
): Event[] {
  let prev = sha256(`counterstep-ledger:${ledger.tenant}/${ledger.sagaId}`);
  let at = 0;
  return records.map((record, index) => {
    const event = JSON.parse(record.body) as Event;
    const place = `record ${index + 1}`;
    if (record.seq !== index + 1 || event.seq !== index + 1)
      found.push(`11: ${place} has another number`);
    if (record.prev !== prev) found.push(`11: ${place} does not follow the one before`);
    if (record.hash !== sha256(record.prev + record.body)) found.push(`11: ${place} was changed`);
    if (canonical(event) !== record.body) found.push(`11: ${place} is not canonical`);
    if (event.at < at) found.push(`11: ${place} is dated before the one it follows`);
    prev = record.hash;
    at = event.at;
    return event;
  });
}

/** What every event says of the saga after it: invariants 1, 7 and 12. */
function heads(events: readonly Event[], found: string[]): void {
  let before: Event | undefined;
  for (const event of events) {
    const { seq } = event;
    const final = FINAL.includes(event.state);
    if (final === (event.dueAt !== undefined)) {
      found.push(`12: event ${seq} is ${event.state} ${final ? 'with' : 'without'} a due time`);
    }
    if (before === undefined) {
      if (event.epoch !== 1 || event.type !== 'saga_started')
        found.push('7: event 1 is no start of epoch 1');
      before = event;
      continue;
    }
    if (FINAL.includes(before.state)) {
      if (!AFTER_THE_END.includes(event.type)) found.push(`1: ${event.type} ${seq} after the end`);
      const moved = event.state !== before.state;
      if (moved && !(event.state === 'incident' && event.type === 'late_evidence')) {
        found.push(`1: ${before.state} became ${event.state} at ${seq}`);
      }
    }
    const step = event.epoch - before.epoch;
    if (step !== 0 && step !== 1)
      found.push(`7: epoch ${before.epoch} became ${event.epoch} at ${seq}`);
    if (step === 1 && before.drive !== 'parked' && event.type !== 'drive_granted') {
      found.push(`7: ${event.type} ${seq} replaced a running drive`);
    }
    if (step === 1 && event.drive !== 'running')
      found.push(`7: event ${seq} grants an epoch that does not run`);
    if (step === 0 && before.drive === 'parked' && event.drive === 'running') {
      found.push(`7: event ${seq} wakes a parked drive under its old epoch`);
    }
    before = event;
  }
}

/** Claims and outcomes of each step and action: invariants 4, 5, 6, 7 and 9. */
function attempts(events: readonly Event[], found: string[]): Map<string, Ledgered> {
  const actions = new Map<string, Ledgered>();
  let before: Event | undefined;
  for (const event of events) {
    const action = actionOf(actions, event);
    if (action !== undefined) {
      if (event.type === 'step_claimed') claimed(event, before, action, actions, events, found);
      else if (event.type === 'review_decided') answered(event, action);
      else outcome(event, action, found);
    }
    before = event;
  }
  return actions;
}

function actionOf(actions: Map<string, Ledgered>, event: Event): Ledgered | undefined {
  const { step, action } = event;
  if (typeof step !== 'string' || typeof action !== 'string') return undefined;
  const name = `${step}/${action}`;
  const known = actions.get(name);
  if (known !== undefined) return known;
  const fresh = {
    step,
    action,
    claims: [],
    outcomes: new Map<string, Event>(),
    committed: undefined,
    correlationId: undefined,
  };
  actions.set(name, fresh);
  return fresh;
}

function claimed(
  event: Event,
  before: Event | undefined,
  action: Ledgered,
  actions: Map<string, Ledgered>,
  events: readonly Event[],
  found: string[],
): void {
  const name = `claim ${event.seq} of ${action.step}/${action.action}`;
  const last = action.claims.at(-1);
  if (before?.drive !== 'running' || before.epoch !== event.epoch) {
    found.push(`7: ${name} by a drive that does not run`);
  }
  if (action.committed !== undefined) found.push(`4: ${name}, which had committed`);
  if (event.attempt !== action.claims.length + 1)
    found.push(`7: ${name} counts ${String(event.attempt)}`);
  if (number(event.leaseUntil) <= number(event.deadlineAt))
    found.push(`7: ${name} has no lease beyond its call`);
  if (action.correlationId !== undefined && action.correlationId !== event.correlationId) {
    found.push(`9: ${name} has another correlation id than the first`);
  }
  action.correlationId = String(event.correlationId);
  if (last !== undefined) {
    const over = action.outcomes.get(nonceOf(last));
    const leased = number(last.leaseUntil) + SKEW_MS;
    if (over === undefined && event.at < leased)
      found.push(`7: ${name} while attempt ${String(last.attempt)} lives`);
    round(event, last, action, events, name, found);
  } else if (event.round !== 1) {
    // Only a person's retry of a refusal that came before any claim.
    const refused = events.some(
      (each) => each.seq < event.seq && each.type === 'step_failed' && each.step === action.step,
    );
    if (!refused) found.push(`9: ${name} begins with round ${String(event.round)}`);
  }
  if (action.action !== 'forward') undoClaim(action, actions, name, found);
  action.claims.push(event);
}

/** Invariant 9: the same key until it is known that the call did not happen. */
function round(
  event: Event,
  last: Event,
  action: Ledgered,
  events: readonly Event[],
  name: string,
  found: string[],
): void {
  const same = event.round === last.round;
  if (same !== (event.key === last.key)) found.push(`9: ${name} has key and round apart`);
  if (same) {
    const over = action.outcomes.get(nonceOf(last));
    const surely = over?.type === 'step_failed';
    if (!surely && event.dedupe !== 'key')
      found.push(`4: ${name} sends again what may have happened`);
    return;
  }
  const between = events.filter((each) => each.seq > last.seq && each.seq < event.seq);
  const absent = between.some(
    (each) =>
      each.step === action.step &&
      each.action === action.action &&
      each.answer === 'absent' &&
      each.at >= number(last.settleUntil),
  );
  const refusal = between.some((each) => each.type === 'step_failed' && each.step === action.step);
  const person = between.some(
    (each) =>
      each.type === 'review_decided' || (each.type === 'drive_granted' && each.reason === 'resume'),
  );
  if (!absent && !(refusal && person)) found.push(`9: ${name} raises the round without knowing`);
}

function undoClaim(
  action: Ledgered,
  actions: Map<string, Ledgered>,
  name: string,
  found: string[],
): void {
  const forward = actions.get(`${action.step}/forward`);
  if (forward?.committed === undefined) {
    found.push(`5: ${name}, whose forward call is not known to have committed`);
    return;
  }
  const undo = forward.committed.undo as { readonly kind?: string } | null | undefined;
  const missing = undo === null || undo === undefined || undo.kind === 'unavailable';
  if (action.action === 'compensate' && missing) found.push(`6: ${name} without stored arguments`);
}

function outcome(event: Event, action: Ledgered, found: string[]): void {
  const nonce = nonceOf(event);
  const known = action.claims.some((claim) => nonceOf(claim) === nonce);
  const mark =
    event.type === 'step_committed' && event.attempt === 0 && action.action !== 'forward';
  const unclaimed = event.type === 'step_failed' && event.attempt === 0;
  if (!known && !mark && !unclaimed)
    found.push(`9: outcome ${event.seq} of an attempt nobody claimed`);
  if (event.type === 'late_evidence') return;
  if (event.type === 'step_committed') {
    if (action.committed !== undefined)
      found.push(`4: ${action.step}/${action.action} commits twice`);
    action.committed = event;
  }
  if (event.type === 'step_reconciled' && event.answer === 'absent') {
    const last = action.claims.at(-1);
    if (last !== undefined && event.at < number(last.settleUntil)) {
      found.push(`3: "absent" at ${event.seq} is believed inside the settle window`);
    }
  }
  action.outcomes.set(nonce, event);
}

function answered(event: Event, action: Ledgered): void {
  if (event.decision !== 'answer') return;
  const last = action.claims.at(-1);
  if (last !== undefined) action.outcomes.set(nonceOf(last), event);
  if (event.answer === 'committed') action.committed = event;
}

/** Invariant 13: recoveries follow the plan in the ledger. */
function recoveryOrder(
  events: readonly Event[],
  actions: Map<string, Ledgered>,
  found: string[],
): void {
  let plan: readonly {
    readonly step: string;
    readonly action: string;
    readonly after: readonly string[];
  }[] = [];
  for (const event of events) {
    if (event.type === 'recovery_planned') {
      plan = (event.plan as { readonly entries: typeof plan }).entries;
    }
    const mark = event.type === 'step_committed' && event.attempt === 0;
    if (event.type !== 'step_claimed' && !mark) continue;
    if (event.action === 'forward') continue;
    const entry = plan.find((each) => each.step === event.step);
    if (entry === undefined || entry.action !== event.action) {
      found.push(
        `13: ${String(event.action)} of ${String(event.step)} at ${event.seq} is not planned`,
      );
      continue;
    }
    for (const name of entry.after) {
      if (!isRecovered(name, event.seq, events, actions)) {
        found.push(`13: ${String(event.step)} is recovered at ${event.seq} before ${name}`);
      }
    }
  }
}

function isRecovered(
  step: string,
  before: number,
  events: readonly Event[],
  actions: Map<string, Ledgered>,
): boolean {
  const stands = (event: Event | undefined): boolean => event !== undefined && event.seq < before;
  for (const action of ['compensate', 'supersede', 'contain']) {
    if (stands(actions.get(`${step}/${action}`)?.committed)) return true;
  }
  const resolved = events.some(
    (event) => event.decision === 'resolve' && event.step === step && event.seq < before,
  );
  return resolved || !stands(actions.get(`${step}/forward`)?.committed);
}

/** Invariants 2, 3 and 10, as far as the ledger alone tells. */
function endings(events: readonly Event[], actions: Map<string, Ledgered>, found: string[]): void {
  const steps = events[0]?.steps as readonly { readonly name: string; readonly effect: string }[];
  const end = events.find((event) => FINAL.includes(event.state));
  if (end === undefined) return;
  const halted = events.some((event) => event.type === 'recovery_planned');
  for (const { name, effect } of steps) {
    const forward = actions.get(`${name}/forward`);
    const done = forward?.committed !== undefined && forward.committed.seq <= end.seq;
    if (end.state === 'completed' && !done) found.push(`3: completed without ${name}`);
    if (end.state !== 'compensated') continue;
    if (effect === 'irreversible' && done)
      found.push(`10: compensated although ${name} cannot be undone`);
    if (effect !== 'read_only' && done && !isRecovered(name, end.seq, events, actions)) {
      found.push(`2: compensated although ${name} stands`);
    }
    if (effect === 'read_only') continue;
    const last = forward?.claims.at(-1);
    if (last === undefined || done) continue;
    const over = forward?.outcomes.get(nonceOf(last));
    const resolved = events.some((event) => event.decision === 'resolve' && event.step === name);
    const clear = over?.type === 'step_failed' || over?.answer === 'absent';
    if (!clear && !resolved) found.push(`3: compensated while ${name} is in doubt`);
  }
  if (end.state === 'compensated' && !halted) found.push('13: compensated without a plan');
}

/** What the partners did, against what the ledger says: invariants 2, 4, 5, 9 and 10. */
function effects(
  events: readonly Event[],
  actions: Map<string, Ledgered>,
  partners: readonly PartnerFacts[],
  found: string[],
): void {
  const last = events.at(-1);
  const steps = events[0]?.steps as readonly { readonly name: string; readonly effect: string }[];
  const claims = events.filter((event) => event.type === 'step_claimed');
  for (const partner of partners) {
    for (const call of partner.calls) {
      if (!call.writes) continue;
      const claim = claims.find(
        (each) => each.key === call.key && each.correlationId === call.correlationId,
      );
      if (claim === undefined || claim.at > call.at) {
        found.push(`9: ${partner.name} was called (${call.operation}) before a claim stood`);
      }
    }
    repeats(partner, events, found);
  }
  const all = partners.flatMap((partner) => partner.effects);
  for (const action of actions.values()) {
    const made = all.filter((effect) => effect.correlationId === action.correlationId);
    const name = `${action.step}/${action.action}`;
    const visible =
      last?.state === 'incident' || events.some((event) => event.type === 'late_evidence');
    if (made.length > 1 && !visible) found.push(`4: ${name} took effect ${made.length} times`);
    if (action.committed !== undefined && action.committed.attempt !== 0 && made.length === 0) {
      if (action.committed.type === 'step_committed')
        found.push(`5: ${name} is on record, but no partner made it`);
    }
    if (action.action !== 'forward' || last === undefined) continue;
    const effect = steps.find((step) => step.name === action.step)?.effect;
    for (const each of made) {
      const undone = all.some((other) => other.reverses === each.id);
      const settled =
        effect === 'supersede' || isRecovered(action.step, last.seq + 1, events, actions);
      if (last.state === 'compensated' && !undone && !(settled && action.committed !== undefined)) {
        found.push(`2: compensated, but ${each.id} of ${action.step} stands`);
      }
      if (last.state === 'compensated' && effect === 'irreversible') {
        found.push(`10: compensated, but ${each.id} of ${action.step} cannot be undone`);
      }
      if (last.state === 'completed' && undone)
        found.push(`3: completed, but ${each.id} was undone`);
    }
  }
  for (const effect of all) {
    const claim = claims.find((each) => each.correlationId === effect.correlationId);
    if (claim === undefined) found.push(`9: effect ${effect.id} has no claim`);
  }
}

/** Invariant 4 where the partner cannot help: a second call only after a clear "nothing was done". */
function repeats(partner: PartnerFacts, events: readonly Event[], found: string[]): void {
  const calls = partner.calls.filter((call) => call.writes);
  for (const [index, call] of calls.entries()) {
    for (const earlier of calls.slice(0, index)) {
      if (earlier.correlationId !== call.correlationId || earlier.answer === 'nothing') continue;
      const person = events.some(
        (event) =>
          event.answer === 'absent' && event.type === 'review_decided' && event.at <= call.at,
      );
      if (person) continue;
      if (partner.dedupe === 'none') {
        found.push(
          `4: ${partner.name} cannot recognise repeats, and was called twice (${call.operation})`,
        );
      }
      if (partner.dedupe === 'key' && earlier.key !== call.key) {
        found.push(`4: ${partner.name} was called again under another key (${call.operation})`);
      }
      const asked = partner.calls.some(
        (other) =>
          !other.writes &&
          other.correlationId === call.correlationId &&
          other.at >= earlier.at &&
          other.at <= call.at,
      );
      if (partner.dedupe === 'lookup' && !asked) {
        found.push(
          `4: ${partner.name} was called again without being asked first (${call.operation})`,
        );
      }
    }
  }
}

function nonceOf(event: Event): string {
  return `${String(event.attempt)}:${String(event.attemptNonce)}`;
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Sorted members, no white space: enough for what JSON.parse gives back. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(',')}}`;
}
