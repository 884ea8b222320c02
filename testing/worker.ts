import { LedgerFunction } from '../lambdas/ledger/ledger-function.ts';
import type { DriveStarter } from '../lambdas/ports/drive-starter.ts';
import type { Entropy } from '../lambdas/ports/entropy.ts';
import { silentLog } from '../lambdas/ports/log.ts';
import type { Stores } from '../lambdas/ports/stores.ts';
import { FoldCache } from '../lambdas/runtime/fold-cache.ts';
import type { Host } from '../lambdas/runtime/host.ts';
import { SagaLedger } from '../lambdas/runtime/saga-ledger.ts';
import { Sweep } from '../lambdas/sweep/sweep.ts';
import type { ImplementedTool } from '../lambdas/tool/implementation.ts';
import { ToolRuntime } from '../lambdas/tool/runtime.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { AnyTool } from '../statemachines/language/tool.ts';
import type { VirtualProcess } from './virtual-time.ts';

export interface WorkerOptions {
  readonly process: VirtualProcess;
  /** The code it was deployed with. */
  readonly sagas: readonly AnySaga[];
  readonly stores: Stores;
  readonly entropy: Entropy;
  readonly drives: DriveStarter;
  implement(contract: AnyTool, worker: VirtualProcess): ImplementedTool;
}

/** Error names as a machine sees them where a function died, or was never run. */
export const LAMBDA_UNKNOWN = 'Lambda.Unknown';
export const LAMBDA_REFUSED = 'Lambda.TooManyRequestsException';

export function lambdaError(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

/** One environment that functions run in: its own clock, its own memory, and one death. */
export class Worker {
  readonly process: VirtualProcess;
  readonly sagas: readonly AnySaga[];
  readonly host: Host;
  readonly ledger: SagaLedger;
  readonly ledgerFunction: LedgerFunction;
  readonly sweep: Sweep;
  readonly #implement: WorkerOptions['implement'];
  readonly #runtimes = new Map<string, ToolRuntime>();
  readonly #inFlight = new Set<(error: Error) => void>();

  constructor(options: WorkerOptions) {
    const { process, sagas, stores, entropy, drives } = options;
    this.process = process;
    this.sagas = sagas;
    this.#implement = options.implement;
    this.host = { stores, clock: process, entropy, log: silentLog, drives };
    this.ledger = new SagaLedger(this.host, new FoldCache());
    this.ledgerFunction = new LedgerFunction({ sagas, host: this.host, ledger: this.ledger });
    this.sweep = new Sweep({ host: this.host, ledger: this.ledger });
  }

  runtime(contract: AnyTool): ToolRuntime {
    const known = this.#runtimes.get(contract.name);
    if (known !== undefined) return known;
    const runtime = new ToolRuntime({
      tool: this.#implement(contract, this.process),
      sagas: this.sagas,
      host: this.host,
      ledger: this.ledger,
    });
    this.#runtimes.set(contract.name, runtime);
    return runtime;
  }

  /** One invocation. Rejects where the worker dies in the middle; what it asked for is never answered. */
  serve<T>(run: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#inFlight.add(reject);
      const over = (): boolean => {
        this.#inFlight.delete(reject);
        return this.process.dead;
      };
      run().then(
        (value) => {
          if (!over()) resolve(value);
        },
        (error: unknown) => {
          if (!over()) reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
  }

  /** Gone at once. @returns what tells the callers that it is gone */
  kill(): () => void {
    this.process.kill();
    const told = [...this.#inFlight];
    this.#inFlight.clear();
    return () => {
      for (const reject of told) reject(lambdaError(LAMBDA_UNKNOWN, 'the function died'));
    };
  }
}
