import type { Drive } from '../lambdas/ports/drive-starter.ts';
import type { SagaLedger } from '../lambdas/runtime/saga-ledger.ts';
import { localMachines } from '../local/machines.ts';
import { LEDGER_LAMBDA_SECONDS, lambdaTimeoutSeconds } from '../statemachines/asl/timeouts.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import { isDerived } from './versions.ts';
import { never, type VirtualTime } from './virtual-time.ts';
import { LAMBDA_REFUSED, LAMBDA_UNKNOWN, lambdaError, type Worker } from './worker.ts';

/** What may happen to one invocation of a function on its way from the machine and back. */
export const INVOCATION_FAULTS = [
  /** Refused for load: the function is not run. */
  'refused',
  /** Run later than asked for. */
  'delayed',
  /** Run on two workers at once. */
  'twice',
  /** Run again after a while, when the machine has gone on. */
  'repeated',
  /** Run, but the machine gets an error in place of the answer. */
  'answer_lost',
  /** Run, but the machine hears nothing until its own timeout. */
  'unheard',
] as const;
export type InvocationFault = (typeof INVOCATION_FAULTS)[number];

/** What one Task asks a tool's function for. */
export interface Task {
  readonly step: string;
  readonly action: 'forward' | 'recover';
}

/** What an execution needs from the place it runs in. */
export interface ExecutionHost {
  readonly time: VirtualTime;
  /** A live worker with the code of this definition, to serve this drive. */
  worker(saga: AnySaga | undefined, drive: Drive): Worker;
  fault(drive: Drive): InvocationFault | undefined;
  delayMs(): number;
  task?(drive: Drive, task: Task, again: () => void): void;
  /** For the hand-over of a saga whose definition nobody has. */
  readonly ledger: SagaLedger;
}

/** One execution of a compiled machine. It lives apart from every worker, as an execution on AWS does. */
export class Execution {
  readonly drive: Drive;
  readonly #saga: AnySaga | undefined;
  readonly #host: ExecutionHost;
  #aborted = false;

  constructor(drive: Drive, saga: AnySaga | undefined, host: ExecutionHost) {
    this.drive = drive;
    this.#saga = saga;
    this.#host = host;
  }

  /** Enters no further state. What its current function does goes on. */
  abort(): void {
    this.#aborted = true;
  }

  /** Rejects where the execution failed; the ledger tells the truth either way. */
  async run(): Promise<void> {
    const saga = this.#saga;
    const { time, ledger } = this.#host;
    const sagas = saga === undefined ? [] : [saga];
    const ledgerMs = LEDGER_LAMBDA_SECONDS * 1000;
    type LedgerHandle = Worker['ledgerFunction']['handle'];
    type ToolHandle = ReturnType<Worker['runtime']>['handle'];
    const ledgerFunction = {
      handle: (request: Parameters<LedgerHandle>[0]) =>
        this.#invoke((worker) =>
          worker.ledgerFunction.handle(request, { endsAt: worker.process.now() + ledgerMs }),
        ),
    };
    const runtimes = new Map(
      sagas.flatMap(({ steps }) =>
        steps.map(({ tool }) => {
          const limitMs = lambdaTimeoutSeconds(tool) * 1000;
          const handle = (request: Parameters<ToolHandle>[0]) => {
            const run = (worker: Worker): ReturnType<ToolHandle> =>
              worker.runtime(tool).handle(request, { endsAt: worker.process.now() + limitMs });
            this.#host.task?.(this.drive, request, () => void this.#serve(run).catch(() => {}));
            return this.#invoke(run);
          };
          return [tool.name, { handle }] as const;
        }),
      ),
    );
    const machines = localMachines({
      sagas,
      ledgerFunction,
      runtimes,
      clock: time.world,
      ledger,
      // Checking a machine takes longer than running it, and these are variations of checked ones.
      trusted: sagas.every(isDerived),
    });
    await machines.run(this.drive);
  }

  #serve<T>(handle: (worker: Worker) => Promise<T>): Promise<T> {
    const worker = this.#host.worker(this.#saga, this.drive);
    return worker.serve(() => handle(worker));
  }

  async #invoke<T>(handle: (worker: Worker) => Promise<T>): Promise<T> {
    if (this.#aborted) return never();
    const { time } = this.#host;
    const serve = (): Promise<T> => this.#serve(handle);
    const aside = (): void => void serve().catch(() => {});
    switch (this.#host.fault(this.drive)) {
      case undefined:
        return serve();
      case 'refused':
        throw lambdaError(LAMBDA_REFUSED, 'too many requests');
      case 'delayed':
        await time.world.sleep(this.#host.delayMs());
        return serve();
      case 'twice':
        aside();
        return serve();
      case 'repeated':
        time.world.timer(this.#host.delayMs(), aside);
        return serve();
      case 'answer_lost':
        await serve().catch(() => {});
        throw lambdaError(LAMBDA_UNKNOWN, 'the answer was lost');
      case 'unheard':
        aside();
        return never();
    }
  }
}
