import type { Partners } from '../http.ts';
import { bySmtp } from './smtp-mail.ts';
import { issueCreditNoteTool } from './tools/issue-credit-note.ts';
import { reserveStockTool } from './tools/reserve-stock.ts';
import { sendEmailTool } from './tools/send-email.ts';

/** Where the outside systems are, as seen from this machine. */
export interface RefundPartners extends Partners {
  /** `smtp://host:port` */
  readonly smtpUrl: string;
}

/**
 * Every tool of the saga, for a process that serves them all. A deployed function imports its own
 * tool's file alone, so that no bundle carries another's libraries.
 */
export function refundTools(partners: RefundPartners) {
  return {
    reserveStock: reserveStockTool(partners),
    issueCreditNote: issueCreditNoteTool(partners),
    sendEmail: sendEmailTool(bySmtp(partners.smtpUrl)),
  };
}
