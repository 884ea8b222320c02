import type { Command, SagaState } from 'counterstep';
import type { Clock } from '../../lambdas/ports/clock.ts';
import type { Drive } from '../../lambdas/ports/drive-starter.ts';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import { silentLog } from '../../lambdas/ports/log.ts';
import type { Metrics } from '../../lambdas/ports/metrics.ts';
import type { RegistryEntry } from '../../lambdas/ports/registry.ts';
import type { Stores } from '../../lambdas/ports/stores.ts';
import type { Host } from '../../lambdas/runtime/host.ts';
import { SagaLedger } from '../../lambdas/runtime/saga-ledger.ts';
import { memoryStores } from '../../lambdas/stores/memory/open.ts';
import { Sweep } from '../../lambdas/sweep/sweep.ts';
import type { CountName, GaugeName, OpenState } from '../../statemachines/metrics.ts';
import type { SagaStarted } from '../../statemachines/rules/events.ts';
import { DRIVE_CHECK_MS } from '../../statemachines/rules/protocol.ts';
import { VirtualTime } from '../../testing/virtual-time.ts';
import { Rules, type SagaOptions, type StepSpec, sagaOf } from '../support/saga-builder.ts';

/** Metrics as they were noted. */
export class NotedMetrics implements Metrics {
  readonly counts = new Map<CountName, number>();
  readonly gauges = new Map<string, number>();

  count(name: CountName, by = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + by);
  }

  gauge(name: GaugeName, value: number, state?: OpenState): void {
    this.gauges.set(state === undefined ? name : `${name} ${state}`, value);
  }
}

/** The sweep over stores in memory and a clock that the test moves. Drives are noted, none runs. */
export class SweepWorld {
  readonly time = new VirtualTime();
  readonly memory = memoryStores();
  readonly metrics = new NotedMetrics();
  readonly drives: Drive[] = [];
  readonly host: Host;
  readonly ledger: SagaLedger;
  readonly sweep: Sweep;
  /** Commands of one saga's form; they hold no state. */
  readonly forms: Rules;

  constructor(
    options: {
      readonly steps?: readonly StepSpec[];
      readonly saga?: SagaOptions;
      readonly stores?: (stores: Stores) => Stores;
    } = {},
  ) {
    this.forms = new Rules(sagaOf(options.steps ?? [{ name: 'a' }, { name: 'b' }], options.saga));
    this.host = {
      stores: options.stores?.(this.memory) ?? this.memory,
      clock: this.time.world,
      entropy: { nonce: () => this.time.nonce(), fraction: () => this.time.fraction() },
      log: silentLog,
      metrics: this.metrics,
      drives: {
        start: async (drive) => {
          this.drives.push(drive);
        },
      },
    };
    this.ledger = new SagaLedger(this.host);
    this.sweep = new Sweep({ host: this.host, ledger: this.ledger });
  }

  /** A second process over the same stores. */
  other(clock: Clock = this.time.world): Sweep {
    const host = { ...this.host, clock };
    return new Sweep({ host, ledger: new SagaLedger(host) });
  }

  id(name: string, tenant = 'acme'): LedgerId {
    return { tenant, sagaId: name };
  }

  async start(id: LedgerId, more: Pick<SagaStarted, 'charged'> = {}): Promise<void> {
    const event = {
      ...this.forms.state.start,
      ...more,
      ...id,
      registeredAt: this.time.now() + DRIVE_CHECK_MS,
    };
    await this.does(id, { kind: 'start', event });
  }

  async does(id: LedgerId, command: Command): Promise<void> {
    const { verdict } = await this.ledger.write(id, command, { actor: 'drive' });
    if (verdict.kind !== 'append') throw new Error(`not taken: ${JSON.stringify(verdict)}`);
  }

  /** The current drive claims a step. */
  async claim(id: LedgerId, step: string): Promise<void> {
    await this.does(id, { ...this.forms.claim(step), epoch: (await this.state(id)).epoch });
  }

  async commit(id: LedgerId, step: string): Promise<void> {
    const attempt = (await this.state(id)).steps.get(step)?.forward.attempt;
    const named = { attempt: attempt?.number, attemptNonce: attempt?.nonce };
    await this.does(id, { ...this.forms.commit(step), ...named } as Command);
  }

  /** The drive ends; the ledger says until when the saga is parked. */
  async assess(id: LedgerId): Promise<void> {
    const { epoch } = await this.state(id);
    await this.does(id, { ...this.forms.assess(), epoch } as Command);
  }

  async finish(id: LedgerId): Promise<void> {
    for (const { name } of this.forms.saga.steps) {
      await this.claim(id, name);
      await this.commit(id, name);
    }
    const { epoch } = await this.state(id);
    await this.does(id, { ...this.forms.complete(), epoch } as Command);
  }

  async state(id: LedgerId): Promise<SagaState> {
    const state = await new SagaLedger(this.host).load(id);
    if (state === undefined) throw new Error(`no saga ${id.sagaId}`);
    return state;
  }

  async pass(ms: number): Promise<void> {
    await this.time.run(() => false, this.time.now() + ms);
  }

  /** All entries of the registry, due or not. */
  async entries(): Promise<readonly RegistryEntry[]> {
    return (await this.memory.registry.due(Number.MAX_SAFE_INTEGER, 10_000)).entries;
  }

  /** Changes a letter of the saga's last record. */
  damage({ tenant, sagaId }: LedgerId): void {
    const records = this.memory.held.ledgers.get(`${tenant}/${sagaId}`);
    const last = records?.at(-1);
    if (records === undefined || last === undefined) throw new Error('no such ledger');
    records[records.length - 1] = { ...last, body: '{"seq":' };
  }
}
