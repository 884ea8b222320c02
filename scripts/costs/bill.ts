import type { Usage } from '../../bench/deployed.ts';
import { STREAM_WINDOW_SECONDS } from '../../infra/stream-defaults.ts';
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
  /** How long the stream gathers a batch. */
  windowMs: STREAM_WINDOW_SECONDS * 1_000,
  /** A batch that holds one saga, where few sagas run. */
  outboxAloneMs: 50,
  /** Between two states of an Express execution. */
  betweenStatesMs: 25,
  /** Billed memory of an Express execution with so small a definition and payload. */
  expressMb: 64,
  /** START, END and REPORT; by default only of invocations that failed. */
  platformLogBytes: 400,
  /** What the logger adds to a line, and the API's access log. */
  lineBytes: 250,
  accessLogBytes: 400,
  /** Per batch: what was passed on, and its metrics. */
  outboxLogBytes: 800,
  /** One entry of an Express machine's log, and at level ALL entries per Task and other state. */
  machineLogBytes: 700,
  entriesPerTask: 5,
  entriesPerState: 2,
  /** X-Ray's default share. */
  traced: 0.05,
  /** Projection items and list entries, beside the ledger. */
  projectionBytes: 1_500,
  /** What DynamoDB adds to each item that it keeps. */
  itemOverheadBytes: 100,
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
  const invocation = (ms: number): number => invocationUsd(ms, { prices });
  const units = ({ writes, reads }: Usage['units']['drive']): number =>
    writes * prices.dynamoWrite.usd + reads * prices.dynamoRead.usd;
  const said = ({ writes, reads }: Usage['units']['drive']): string =>
    `${rounded(writes)} write and ${rounded(reads)} read request units`;
  const outboxCalls = usage.ledgerEvents / ASSUMED.outboxBatch;
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
      `${rounded(outboxCalls)} × ${ASSUMED.outboxMs} ms`,
      outboxCalls * invocation(ASSUMED.outboxMs),
    ),
    saga('projection', said(outbox), units(outbox)),
    saga(
      'event bus',
      `${usage.published} ${usage.published === 1 ? 'event' : 'events'}`,
      usage.published * prices.busEvent.usd,
    ),
    watching(
      'logs of functions and API',
      ...logCost(
        usage.failedCalls * ASSUMED.platformLogBytes +
          usage.logBytes +
          usage.logLines * ASSUMED.lineBytes +
          outboxCalls * ASSUMED.outboxLogBytes +
          ASSUMED.accessLogBytes,
        prices.logGb.usd,
      ),
    ),
    watching('log of the machine, level ERROR', ...logCost(errorLog(usage), prices.logGb.usd)),
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
  const ms = expressMs(usage);
  const gbSeconds = (ASSUMED.expressMb / 1024) * (ms / 1000);
  return [
    `1 execution of ${ms} ms at ${ASSUMED.expressMb} MB`,
    prices.expressRequest.usd + gbSeconds * prices.expressGbSecond.usd * MILLION,
  ];
}

/** How long an Express execution is billed for. */
export function expressMs({ toolCalls, ledgerCalls, states }: Usage): number {
  const worked = toolCalls * ASSUMED.toolMs + ledgerCalls * ASSUMED.ledgerMs;
  return Math.ceil((worked + states * ASSUMED.betweenStatesMs) / 100) * 100;
}

/** USD per million invocations. */
export function invocationUsd(ms: number, { prices }: Pick<PriceList, 'prices'>): number {
  const gbSeconds = (ASSUMED.memoryMb / 1024) * (ms / 1000);
  return prices.lambdaRequest.usd + gbSeconds * prices.lambdaGbSecond.usd * MILLION;
}

/** Bytes at level ERROR: each Task that failed; and where the execution fails, its last state and end. */
function errorLog({ failedCalls, failed }: Usage): number {
  return (failedCalls + (failed ? 2 : 0)) * ASSUMED.machineLogBytes;
}

/** Bytes at level ALL. */
export function fullLog({ states, toolCalls, ledgerCalls }: Usage): number {
  const tasks = toolCalls + ledgerCalls;
  const entries = tasks * ASSUMED.entriesPerTask + (states - tasks) * ASSUMED.entriesPerState + 2;
  return entries * ASSUMED.machineLogBytes;
}

function logCost(bytes: number, usdPerGb: number): [quantity: string, usd: number] {
  return [`${(bytes / 1000).toFixed(1)} KB`, (bytes / 1e9) * MILLION * usdPerGb];
}

function rounded(units: number): string {
  return String(Number(units.toFixed(2)));
}

export function total(lines: readonly Line[], group?: Line['group']): number {
  return lines
    .filter((line) => group === undefined || line.group === group)
    .reduce((sum, { usd }) => sum + usd, 0);
}
