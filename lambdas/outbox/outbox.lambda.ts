import { outboxHandler } from '../aws/outbox-handler.ts';

export const handler = outboxHandler();
