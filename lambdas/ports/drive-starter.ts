import type { LedgerId } from './ledger-store.ts';

/** Starts the execution of one drive. Provided by Step Functions or by the local plane. */
export interface DriveStarter {
  /**
   * Starts execution `<sagaId>-<epoch>`. A name that exists was started: that is success.
   * MAY fail or be lost: the saga's `dueAt` covers it, so callers log a failure and go on.
   */
  start(drive: Drive): Promise<void>;
}

export interface Drive extends LedgerId {
  readonly epoch: number;
  /** The machine version that event 1 (or a later `resume`) names. */
  readonly machine: string;
}
