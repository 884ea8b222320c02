import type { BatchAnswer } from '../../lambdas/aws/outbox-handler.ts';
import type { StreamBatch, StreamRecord } from '../../lambdas/outbox/stream.ts';

export interface Drained {
  readonly invocations: number;
  /** What was given up, as it lies in the failure destination: places, no records. */
  readonly discarded: readonly { readonly from: string; readonly to: string }[];
}

/**
 * One shard as Lambda reads it with `ReportBatchItemFailures`: a batch is done up to its first failed
 * record, and is handed over again from there, up to `retryAttempts` times without getting further.
 * Then all that is left of it is given up, the healthy records too: as bad as the service may be.
 */
export async function drain(
  handler: (batch: StreamBatch) => Promise<BatchAnswer>,
  records: readonly StreamRecord[],
  options: { readonly batchSize: number; readonly retryAttempts: number },
): Promise<Drained> {
  const discarded: { from: string; to: string }[] = [];
  let invocations = 0;
  for (let at = 0; at < records.length; at += options.batchSize) {
    let batch = records.slice(at, at + options.batchSize);
    for (let tries = 0; batch.length > 0; ) {
      invocations += 1;
      const left = rest(batch, await handler({ Records: batch }));
      tries = left.length < batch.length ? 0 : tries + 1;
      batch = left;
      if (tries <= options.retryAttempts) continue;
      discarded.push({ from: positionOf(batch[0]), to: positionOf(batch.at(-1)) });
      break;
    }
  }
  return { invocations, discarded };
}

function rest(batch: readonly StreamRecord[], { batchItemFailures }: BatchAnswer): StreamRecord[] {
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  const first = batch.findIndex((record) => failed.has(positionOf(record)));
  return first === -1 ? [] : batch.slice(first);
}

function positionOf(record: StreamRecord | undefined): string {
  return record?.dynamodb?.SequenceNumber ?? '';
}
