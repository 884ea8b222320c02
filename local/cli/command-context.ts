import type { Command } from 'commander';
import { Client, DEFAULT_ENDPOINT } from './client.ts';
import { authoriserOf } from './credentials.ts';
import { type Output, openOutput } from './output.ts';

interface GlobalOptions {
  readonly endpoint?: string;
  readonly sigv4?: boolean;
  readonly json?: boolean;
  readonly table?: boolean;
}

export interface CommandContext {
  readonly client: Client;
  readonly output: Output;
}

/** What the global options and the environment say. */
export function contextOf(command: Command): CommandContext {
  const options = command.optsWithGlobals<GlobalOptions>();
  const endpoint = options.endpoint ?? process.env.COUNTERSTEP_ENDPOINT ?? DEFAULT_ENDPOINT;
  const authorise = authoriserOf(endpoint, process.env, options.sigv4);
  const client = new Client({ endpoint, authorise });
  return { client, output: outputOf(command) };
}

export function outputOf(command: Command): Output {
  return openOutput(command.optsWithGlobals<GlobalOptions>());
}

export function idPath(base: string, id: string, rest = ''): string {
  return `${base}/${encodeURIComponent(id)}${rest}`;
}

export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}
