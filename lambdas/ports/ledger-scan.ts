import type { LedgerId } from './ledger-store.ts';

/** Finds every ledger there is, of all tenants. Only for operators: no function of the plane has it. */
export interface LedgerScan {
  /**
   * A page of ledgers of one segment. Segments are disjoint and hold every ledger together, so that
   * several can be gone through at once. A ledger that begins meanwhile may or may not be found; one
   * may be found twice.
   * @throws StoreUnavailable
   */
  page(segment: ScanSegment, cursor?: string): Promise<ScanPage>;
}

export interface ScanSegment {
  readonly index: number;
  readonly of: number;
}

export interface ScanPage {
  readonly ledgers: readonly LedgerId[];
  /** Absent on the last page. */
  readonly cursor?: string;
}
