/**
 * How the outbox reads the stream unless told otherwise. A short saga begins and ends within the window,
 * so that it is noted once, as it ended, at less than half the price of twice. Lists and events come as
 * much later. A batch has room for what a busy shard writes meanwhile.
 */
export const STREAM_WINDOW_SECONDS = 5;
export const STREAM_BATCH_SIZE = 1_000;
