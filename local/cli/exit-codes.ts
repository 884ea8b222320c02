import type { SagaStatus } from '../../statemachines/rules/events.ts';

/** What the process says about the saga it was asked for; scripts and agents branch on it. */
export const EXIT = {
  ok: 0,
  error: 1,
  compensated: 2,
  needsReview: 3,
  incident: 4,
  stillRunning: 5,
} as const;

export const EXIT_HELP = `
Exit codes: 0 completed, or done as asked   1 error        2 compensated
            3 needs review                  4 incident     5 still running`;

export function exitCodeOf(state: SagaStatus): number {
  switch (state) {
    case 'completed':
      return EXIT.ok;
    case 'compensated':
      return EXIT.compensated;
    case 'needs_review':
      return EXIT.needsReview;
    case 'incident':
      return EXIT.incident;
    case 'queued':
    case 'running':
    case 'waiting':
    case 'compensating':
      return EXIT.stillRunning;
  }
}
