import type { Check } from './checks.ts';
import type { LedgerEvent, Standing, Verification } from './plane-client.ts';

/** Prints what happened for a person who has never seen it before. */
export function story(events: readonly LedgerEvent[]): string[] {
  const first = events[0]?.at ?? 0;
  return events.map((event) => {
    const seconds = ((event.at - first) / 1000).toFixed(1).padStart(5);
    return `  ${String(event.seq).padStart(3)} ${seconds}s  ${event.state.padEnd(12)} ${words(event)}`;
  });
}

function words(event: LedgerEvent): string {
  const what =
    `${event.step ?? ''}${event.action === 'forward' ? '' : ` ${event.action ?? ''}`}`.trim();
  switch (event.type) {
    case 'saga_started':
      return 'started';
    case 'step_claimed':
      return `${what}: attempt ${event.attempt ?? 0}`;
    case 'step_committed':
      return `${what}: committed${event.via === 'reconcile' ? ' (found by asking the partner)' : ''}`;
    case 'step_failed':
      return `${what}: failed (${event.code ?? ''})`;
    case 'step_in_doubt':
      return `${what}: in doubt (${event.code ?? ''})`;
    case 'step_reconciled':
      return `${what}: the partner says "${event.answer ?? ''}"`;
    case 'recovery_planned':
      return 'recovery planned';
    case 'drive_parked':
      return `parked (${event.reason ?? ''})`;
    case 'drive_granted':
      return `drive ${event.epoch} takes over (${event.reason ?? ''})`;
    case 'review_opened':
      return `a person is asked (${event.reason ?? ''})`;
    default:
      return event.type.replaceAll('_', ' ');
  }
}

export function standingTable(report: Standing): string[] {
  const lines = [`  standing: ${report.summary}`];
  for (const step of report.steps) {
    const ids = Object.entries(step.externalIds).map(([name, id]) => `${name} ${id}`);
    lines.push(
      `    ${step.step.padEnd(10)} ${step.standing.padEnd(12)} ${step.words}  ${ids.join(', ')}`,
    );
  }
  return lines;
}

export function chainLine(verdict: Verification): string {
  const head =
    verdict.head === undefined
      ? ''
      : `, head ${verdict.head.seq} ${verdict.head.hash.slice(0, 12)}`;
  return `  chain:    ${verdict.verdict}${head}, held against ${verdict.checkedAgainst.join(', ') || 'itself only'}`;
}

export function checkLines(checks: readonly Check[]): string[] {
  return checks.map(({ ok, claim }) => `  ${ok ? 'ok ' : 'NOT'} ${claim}`);
}
