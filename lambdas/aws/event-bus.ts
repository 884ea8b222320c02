import {
  EventBridgeClient,
  type EventBridgeClientConfig,
  PutEventsCommand,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge';
import { EVENT_SOURCE } from '../../statemachines/asl/environment.ts';
import type { PlaneEvent } from '../outbox/plane-events.ts';
import { type Clock, systemClock } from '../ports/clock.ts';
import { type Entropy, systemEntropy } from '../ports/entropy.ts';
import type { EventPublisher, Unpublished } from '../ports/event-publisher.ts';

export interface EventBusOptions {
  /** Name or ARN of the bus. */
  readonly bus: string;
  readonly client?: EventBridgeClient;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** How long `publish` goes on trying (milliseconds). Default: 15 s. */
  readonly patienceMs?: number;
}

/** What one PutEvents call takes. Our events are below 2 KB, so their size is no limit. */
const MAX_ENTRIES = 10;
/** Calls made at once. */
const SIDE_BY_SIDE = 4;
const PATIENCE_MS = 15_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/**
 * Publishes to an EventBridge bus. A call may take some of its events and refuse others: those, and
 * only those, are sent again, with growing pauses.
 */
export function eventBus(options: EventBusOptions): EventPublisher {
  const { bus, patienceMs = PATIENCE_MS } = options;
  const { client = eventBridgeClient(), clock = systemClock, entropy = systemEntropy } = options;

  const send = async (events: readonly PlaneEvent[]): Promise<readonly Unpublished[]> => {
    const Entries = events.map((event) => entryOf(event, bus));
    try {
      const answer = await client.send(new PutEventsCommand({ Entries }));
      return events.flatMap((event, index) => refusalOf(event, answer.Entries?.[index]));
    } catch (error) {
      const code = error instanceof Error ? error.name : 'unknown';
      return events.map(({ detail }) => ({ id: detail.id, code }));
    }
  };

  const insist = async (
    events: readonly PlaneEvent[],
    endsAt: number,
  ): Promise<readonly Unpublished[]> => {
    let open = events;
    for (let tries = 0; ; tries += 1) {
      const refused = await send(open);
      const ids = new Set(refused.map(({ id }) => id));
      open = open.filter(({ detail }) => ids.has(detail.id));
      const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(tries, 10));
      const waitMs = pauseMs / 2 + (pauseMs / 2) * entropy.fraction();
      if (open.length === 0 || clock.now() + waitMs > endsAt) return refused;
      await clock.sleep(waitMs);
    }
  };

  return {
    async publish(events) {
      const endsAt = clock.now() + patienceMs;
      const calls: (readonly PlaneEvent[])[] = [];
      for (let at = 0; at < events.length; at += MAX_ENTRIES) {
        calls.push(events.slice(at, at + MAX_ENTRIES));
      }
      const refused: Unpublished[] = [];
      for (let at = 0; at < calls.length; at += SIDE_BY_SIDE) {
        const group = calls.slice(at, at + SIDE_BY_SIDE);
        const answers = await Promise.all(group.map((call) => insist(call, endsAt)));
        refused.push(...answers.flat());
      }
      return refused;
    },
  };
}

function entryOf({ type, at, detail }: PlaneEvent, bus: string): PutEventsRequestEntry {
  return {
    EventBusName: bus,
    Source: EVENT_SOURCE,
    DetailType: type,
    Time: new Date(at),
    Detail: JSON.stringify(detail),
  };
}

/** An answer that says nothing of an event has not taken it. */
function refusalOf({ detail }: PlaneEvent, answer: PutEventsResultEntry | undefined) {
  if (answer?.EventId !== undefined) return [];
  return [{ id: detail.id, code: answer?.ErrorCode ?? 'no answer' }];
}

/** Gives up early: what is not taken is sent again here, and by the next invocation. */
export function eventBridgeClient(config: EventBridgeClientConfig = {}): EventBridgeClient {
  return new EventBridgeClient({
    maxAttempts: 2,
    requestHandler: {
      connectionTimeout: 1_000,
      requestTimeout: 5_000,
      throwOnRequestTimeout: true,
    },
    ...config,
  });
}
