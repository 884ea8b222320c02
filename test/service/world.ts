import type { Clock } from '../../lambdas/ports/clock.ts';
import type { Drive, DriveStarter } from '../../lambdas/ports/drive-starter.ts';
import { systemEntropy } from '../../lambdas/ports/entropy.ts';
import { type Log, silentLog } from '../../lambdas/ports/log.ts';
import type { SagaIndex } from '../../lambdas/ports/saga-index.ts';
import type { Stores } from '../../lambdas/ports/stores.ts';
import type { Host } from '../../lambdas/runtime/host.ts';
import { SagaLedger } from '../../lambdas/runtime/saga-ledger.ts';
import { type Principal, ROLES, type Role } from '../../lambdas/service/principal.ts';
import { Problem } from '../../lambdas/service/problems.ts';
import { SagaService } from '../../lambdas/service/service.ts';
import { type MemoryStores, memoryStores } from '../../lambdas/stores/memory/open.ts';
import { Projection } from '../../local/projection.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import { openRecord } from '../../statemachines/ledger/chain.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import type { TenantBudgetBook } from '../../statemachines/rules/tenant-budget.ts';
import { sagas as allSagas } from './sagas.ts';

/** A clock that moves when a test says so. Whoever sleeps wakes at once. */
export class HandClock implements Clock {
  time = Date.UTC(2026, 0, 5, 12);
  now(): number {
    return this.time;
  }
  pass(ms: number): void {
    this.time += ms;
  }
  async sleep(ms: number): Promise<void> {
    // Clocks count whole milliseconds.
    this.time += Math.ceil(ms);
  }
  timer(): () => void {
    return () => {};
  }
}

export interface WorldOptions {
  readonly sagas?: readonly AnySaga[];
  readonly clock?: Clock;
  readonly drives?: DriveStarter;
  readonly index?: SagaIndex;
  readonly log?: Log;
  readonly tenants?: TenantBudgetBook;
  /** Put before the stores, to fail them. */
  readonly around?: (stores: Stores) => Stores;
}

/** The service over stores in memory; nothing drives the sagas it starts. */
export class World {
  readonly stores: MemoryStores = memoryStores();
  readonly clock = new HandClock();
  readonly projection = new Projection(this.stores.openHeads(), silentLog);
  readonly host: Host;
  readonly ledger: SagaLedger;
  readonly service: SagaService;
  /** Drives that were asked for, where no other starter was given. */
  readonly started: Drive[] = [];
  readonly sagas: readonly AnySaga[];
  readonly #tenants: TenantBudgetBook | undefined;

  constructor(options: WorldOptions = {}) {
    const record = async (drive: Drive): Promise<void> => {
      this.started.push(drive);
    };
    this.host = {
      stores: options.around === undefined ? this.stores : options.around(this.stores),
      clock: options.clock ?? this.clock,
      entropy: systemEntropy,
      log: options.log ?? silentLog,
      drives: options.drives ?? { start: record },
      appended: (id, event, hash) => this.projection.seen(id, event, hash),
    };
    this.ledger = new SagaLedger(this.host);
    this.#tenants = options.tenants;
    this.sagas = options.sagas ?? allSagas;
    this.service = this.serving(this.sagas, options.index);
  }

  /** Another process over the same stores: it remembers nothing of this one. */
  serving(sagas: readonly AnySaga[], index: SagaIndex = this.projection): SagaService {
    return new SagaService({
      host: this.host,
      ledger: new SagaLedger(this.host),
      sagas,
      index,
      ...(this.#tenants === undefined ? {} : { tenants: this.#tenants }),
      machineOf: (saga) => `${saga.name}@${saga.plan.digest}`,
    });
  }

  /** Everything the stores hold, as one text: two of them are equal if nothing was left behind. */
  held(): string {
    const { ledgers, payloads, registry } = this.stores.held;
    return JSON.stringify([
      [...ledgers],
      [...payloads].map(([id, kept]) => [id, [...kept]]),
      [...registry],
    ]);
  }

  events(tenant: string, sagaId: string): SagaEvent[] {
    const records = this.stores.held.ledgers.get(`${tenant}/${sagaId}`) ?? [];
    return records.map((record) => openRecord(record));
  }
}

export const EMPTY = JSON.stringify([[], [], []]);

export function principal(...roles: readonly Role[]): Principal {
  return { tenant: 'acme', id: 'ada', roles: roles.length === 0 ? ROLES : roles };
}

export const ada = principal();
export const stranger: Principal = { tenant: 'umbra', id: 'eve', roles: ROLES };

/** The problem that a call ends in. */
export async function problemIn(call: Promise<unknown> | (() => unknown)): Promise<Problem> {
  try {
    await (typeof call === 'function' ? call() : call);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('the call succeeded where a problem was expected');
}
