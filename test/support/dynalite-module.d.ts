declare module 'dynalite' {
  import type { Server } from 'node:http';

  /** A DynamoDB look-alike; without `path` it keeps everything in memory. */
  export default function dynalite(options?: {
    readonly path?: string;
    readonly createTableMs?: number;
    readonly deleteTableMs?: number;
    readonly updateTableMs?: number;
  }): Server;
}
