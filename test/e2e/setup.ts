import type { TestProject } from 'vitest/node';
import { bootstrapLocally } from '../../scripts/emulator/deploy.ts';
import { startMinistack } from '../../scripts/emulator/ministack.ts';
import { target } from './target.ts';

/** A stand-in for AWS that answers. */
export interface StandIn {
  readonly endpoint: string;
  /** Of the one started for this run: where its functions' processes have their code. */
  readonly folder?: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Absent where the suite runs without one. */
    standIn: StandIn | undefined;
  }
}

/** Starts what all files share. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  if (target.kind === 'endpoint') {
    await bootstrapLocally({ endpoint: target.endpoint, say: () => {} });
    project.provide('standIn', { endpoint: target.endpoint });
    return undefined;
  }
  if (target.kind !== 'emulator') {
    project.provide('standIn', undefined);
    return undefined;
  }
  const emulator = await startMinistack({ say });
  try {
    await bootstrapLocally({ endpoint: emulator.endpoint, say: () => {} });
  } catch (error) {
    await emulator.stop();
    throw error;
  }
  project.provide('standIn', { endpoint: emulator.endpoint, folder: emulator.folder });
  return () => emulator.stop();
}
