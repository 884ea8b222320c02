import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStores } from '../lambdas/stores/embedded/open.ts';
import { startEngine } from '../local/engine.ts';
import { PROTOCOL } from '../statemachines/rules/events.ts';
import { sagaIdOf } from '../statemachines/rules/keys.ts';
import { DRIVE_CHECK_MS } from '../statemachines/rules/protocol.ts';
import { countingStores } from './counting-stores.ts';
import { benchSaga, benchTools } from './sagas.ts';

export interface Figures {
  readonly saga: 'completing' | 'failing';
  readonly concurrency: number;
  readonly sagas: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly tasks: number;
  readonly ledgerWrites: number;
  readonly otherWrites: number;
  readonly storeRequests: number;
  readonly bytes: number;
}
