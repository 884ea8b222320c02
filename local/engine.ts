import { LedgerFunction } from '../lambdas/ledger/ledger-function.ts';
import { type Clock, systemClock } from '../lambdas/ports/clock.ts';
import { type Entropy, systemEntropy } from '../lambdas/ports/entropy.ts';
import type { Heads } from '../lambdas/ports/heads.ts';
import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import { type Log, silentLog } from '../lambdas/ports/log.ts';
import type { Stores } from '../lambdas/ports/stores.ts';
import { FoldCache } from '../lambdas/runtime/fold-cache.ts';
import type { Host } from '../lambdas/runtime/host.ts';
import { SagaLedger } from '../lambdas/runtime/saga-ledger.ts';
import { Sweep } from '../lambdas/sweep/sweep.ts';
import type { ImplementedTool } from '../lambdas/tool/implementation.ts';
import { ToolRuntime } from '../lambdas/tool/runtime.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import { LocalDrives } from './drives.ts';
import { localMachines, type Machines } from './machines.ts';
import { Projection } from './projection.ts';
import { Watch } from './watch.ts';

export interface EngineOptions {
  readonly sagas: readonly AnySaga[];
  readonly tools: readonly ImplementedTool[];
  readonly stores: Stores;
  readonly heads: Heads;
  /** Every ledger in the stores, for rebuilding lists. */
  readonly ledgers: () => Iterable<LedgerId>;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  readonly log?: Log;
  /** Told of every event once it stands. */
  readonly appended?: Host['appended'];
  /** Drives that run at once. */
  readonly atOnce?: number;
}

/** Everything that moves sagas, in one process: the compiled machines over the same handlers as on AWS. */
export interface Engine {
  readonly host: Host;
  readonly ledger: SagaLedger;
  readonly projection: Projection;
  readonly sweep: Sweep;
  readonly machines: Machines;
  readonly drives: LocalDrives;
  /** Ledgers found damaged when the engine came up. */
  readonly damaged: readonly LedgerId[];
  /** Ends what runs and notes the lists. The stores stay open: their owner closes them. */
  close(): Promise<void>;
}

/**
 * Brings the engine up over stores that no other engine uses, and takes up every unfinished saga: a
 * drive that ran in a process now gone is replaced by the next epoch.
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const clock = options.clock ?? systemClock;
  const entropy = options.entropy ?? systemEntropy;
  const log = options.log ?? silentLog;
  const projection = new Projection(options.heads, log);
  const { damaged } = await projection.rebuild(options.ledgers(), options.stores.ledger);
  for (const id of damaged) {
    log.error('a ledger is shorter than it was, or gone: nothing is added to it', {
      sagaId: id.sagaId,
    });
  }
  const watch = new Watch({ clock, log, ignored: damaged });
  const drives = new LocalDrives(log, options.atOnce);
  const host: Host = {
    stores: options.stores,
    clock,
    entropy,
    log,
    drives,
    anchor: (id) => projection.anchor(id),
    appended: (id, event, hash) => {
      projection.seen(id, event, hash);
      watch.seen(id, event);
      options.appended?.(id, event, hash);
    },
  };
  const ledger = new SagaLedger(host, new FoldCache(4_096));
  const ledgerFunction = new LedgerFunction({ sagas: options.sagas, host, ledger });
  const runtimes = new Map(
    options.tools.map((tool) => [
      tool.contract.name,
      new ToolRuntime({ tool, sagas: options.sagas, host, ledger }),
    ]),
  );
  const machines = localMachines({ sagas: options.sagas, ledgerFunction, runtimes, clock, ledger });
  const sweep = new Sweep({ host, ledger });
  drives.use(machines);
  await takeUp(projection, sweep, watch, log);
  watch.begin(sweep);
  return {
    host,
    ledger,
    projection,
    sweep,
    machines,
    drives,
    damaged,
    close: async () => {
      await watch.close();
      await drives.close();
      await projection.close();
    },
  };
}

async function takeUp(projection: Projection, sweep: Sweep, watch: Watch, log: Log): Promise<void> {
  for (const saga of projection.unfinished()) {
    if (!watch.follow(saga, saga.dueAt)) continue;
    try {
      await sweep.grant(saga, 'restart');
    } catch (error) {
      log.error('a saga could not be taken up', {
        sagaId: saga.sagaId,
        error: error instanceof Error ? error.message : 'unknown',
      });
    }
  }
}
