import type { Usage } from '../../bench/deployed.ts';
import type { PriceList } from './prices.ts';

/** What is assumed where nothing can be counted on this machine. */
export const ASSUMED = {
  memoryMb: 512,
  /** Billed durations, from the answers of DynamoDB (some 5 ms each) and of a quick partner (50 ms). */
  toolMs: 100,
  ledgerMs: 40,
  apiMs: 50,
  outboxMs: 300,
  /** Records in a batch of the stream. */
  outboxBatch: 100,
  /** Between two states of an Express execution. */
  betweenStatesMs: 25,
  /** Billed memory of an Express execution with so small a definition and payload. */
  expressMb: 64,
  /** START, END and REPORT. */
  platformLogBytes: 400,
  /** What the logger adds to a line, and the API's access log. */
  lineBytes: 250,
  accessLogBytes: 400,
  /** One entry of an Express machine's log at level ALL, and entries per Task and other state. */
  machineLogBytes: 700,
  entriesPerTask: 5,
  entriesPerState: 2,
  /** X-Ray's default share. */
  traced: 0.05,
  /** Projection items and list entries, beside the ledger. */
  projectionBytes: 1_500,
} as const;

export type Machine = 'Express' | 'Standard';

/** One line of a bill: USD per million sagas. */
export interface Line {
  readonly group: 'saga' | 'watching';
  readonly part: string;
  readonly quantity: string;
  readonly usd: number;
}

const MILLION = 1_000_000;

/** What a million sagas cost that each use so much. */
export function bill(usage: Usage, machine: Machine, { prices }: PriceList): Line[] {
  const { drive, start, outbox } = usage.units;
  const invocation = (ms: number): number =>
    prices.lambdaRequest.usd +
    (ASSUMED.memoryMb / 1024) * (ms / 1000) * prices.lambdaGbSecond.usd * MILLION;
  const units = ({ writes, reads }: Usage['units']['drive']): number =>
    writes * prices.dynamoWrite.usd + reads * prices.dynamoRead.usd;
  const said = ({ writes, reads }: Usage['units']['drive']): string =>
    `${writes} write and ${reads} read request units`;
  const outboxCalls = usage.ledgerEvents / ASSUMED.outboxBatch;
  const calls = usage.toolCalls + usage.ledgerCalls + 1 + outboxCalls;
  return [
    saga('state machine', ...machineCost(usage, machine, { prices })),
    saga(
      'tool and ledger functions',
      `${usage.toolCalls} × ${ASSUMED.toolMs} ms, ${usage.ledgerCalls} × ${ASSUMED.ledgerMs} ms`,
      usage.toolCalls * invocation(ASSUMED.toolMs) +
        usage.ledgerCalls * invocation(ASSUMED.ledgerMs),
    ),
    saga('ledger and registry', said(drive), units(drive)),
    saga('start: HTTP API', '1 request', prices.httpApiRequest.usd),
    saga('start: API function', `1 × ${ASSUMED.apiMs} ms`, invocation(ASSUMED.apiMs)),
    saga('start: ledger and registry', said(start), units(start)),
    saga('stream', 'read by Lambda', prices.dynamoStreamRead.usd),
    saga(
      'outbox function',
      `${outboxCalls} × ${ASSUMED.outboxMs} ms`,
      outboxCalls * invocation(ASSUMED.outboxMs),
    ),
    saga('projection', said(outbox), units(outbox)),
    saga('event bus', `${usage.published} events`, usage.published * prices.busEvent.usd),
    watching(
      'logs of functions and API',
      ...logCost(
        calls * ASSUMED.platformLogBytes +
          usage.logBytes +
          ASSUMED.lineBytes +
          ASSUMED.accessLogBytes,
        prices.logGb.usd,
      ),
    ),
    ...(machine === 'Express'
      ? [watching('log of the machine, level ALL', ...logCost(machineLog(usage), prices.logGb.usd))]
      : []),
    watching('traces', `${ASSUMED.traced * 100} % of sagas`, ASSUMED.traced * prices.trace.usd),
  ];
}

function saga(part: string, quantity: string, usd: number): Line {
  return { group: 'saga', part, quantity, usd };
}

function watching(part: string, quantity: string, usd: number): Line {
  return { group: 'watching', part, quantity, usd };
}

function machineCost(
  usage: Usage,
  machine: Machine,
  { prices }: Pick<PriceList, 'prices'>,
): [quantity: string, usd: number] {
  if (machine === 'Standard') {
    // The start of an execution counts as a transition into its first state.
    const transitions = usage.states + 1;
    return [`${transitions} state transitions`, transitions * prices.standardTransition.usd];
  }
  const worked = usage.toolCalls * ASSUMED.toolMs + usage.ledgerCalls * ASSUMED.ledgerMs;
  const ms = Math.ceil((worked + usage.states * ASSUMED.betweenStatesMs) / 100) * 100;
  const gbSeconds = (ASSUMED.expressMb / 1024) * (ms / 1000);
  return [
    `1 execution of ${ms} ms at ${ASSUMED.expressMb} MB`,
    prices.expressRequest.usd + gbSeconds * prices.expressGbSecond.usd * MILLION,
  ];
}

function machineLog({ states, toolCalls, ledgerCalls }: Usage): number {
  const tasks = toolCalls + ledgerCalls;
  const entries = tasks * ASSUMED.entriesPerTask + (states - tasks) * ASSUMED.entriesPerState + 2;
  return entries * ASSUMED.machineLogBytes;
}

function logCost(bytes: number, usdPerGb: number): [quantity: string, usd: number] {
  return [`${(bytes / 1000).toFixed(1)} KB`, (bytes / 1e9) * MILLION * usdPerGb];
}

export function total(lines: readonly Line[], group?: Line['group']): number {
  return lines
    .filter((line) => group === undefined || line.group === group)
    .reduce((sum, { usd }) => sum + usd, 0);
}
