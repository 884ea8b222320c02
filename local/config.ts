import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ImplementedTool } from '../lambdas/tool/implementation.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { TenantBudgetBook } from '../statemachines/rules/tenant-budget.ts';

/** What `counterstep dev` serves: definitions and the tools they use. */
export interface LocalConfig {
  readonly sagas: readonly AnySaga[];
  readonly tools: readonly ImplementedTool[];
  /** Where ledgers live. Default `.counterstep` beside the configuration file. */
  readonly dataDir?: string;
  /** Default 4570. */
  readonly port?: number;
  /**
   * Default `open`: one developer, one tenant, every role, no questions asked; only this machine
   * reaches the port. With `tokens` each request needs one that `counterstep token` issued.
   */
  readonly auth?: LocalAuth;
  /** What the sagas of a tenant may hold at once; `*` for every tenant not named. Default: no limit. */
  readonly tenants?: TenantBudgetBook;
}

export type LocalAuth = (typeof AUTH_MODES)[number];
const AUTH_MODES = ['open', 'tokens'] as const;

/** Names looked for, in this order, in the folder where the command runs. */
export const CONFIG_FILES = [
  'counterstep.config.ts',
  'counterstep.config.js',
  'counterstep.config.mjs',
];

/** Gives the configuration its type. */
export function defineConfig(config: LocalConfig): LocalConfig {
  return config;
}

/** The configuration cannot be used; the message says what to change. */
export class ConfigInvalid extends Error {
  override readonly name = 'Counterstep.ConfigInvalid';
}

/**
 * Loads a configuration file, TypeScript included.
 * @throws ConfigInvalid where there is none, or it exports something else
 */
export async function loadConfig(
  path: string | undefined,
): Promise<LocalConfig & { readonly folder: string }> {
  const file = path === undefined ? findConfig() : resolve(path);
  if (file === undefined || !existsSync(file)) {
    throw new ConfigInvalid(
      `no configuration ${path === undefined ? `here (${CONFIG_FILES.join(', ')})` : `at ${path}`}: ` +
        'write one that default-exports defineConfig({ sagas, tools })',
    );
  }
  const loaded = file.endsWith('.ts')
    ? await importTypeScript(file)
    : await import(pathToFileURL(file).href);
  const config: unknown = (loaded as { readonly default?: unknown }).default;
  if (!isConfig(config)) {
    throw new ConfigInvalid(
      `${file} must default-export defineConfig({ sagas: [...], tools: [...] })`,
    );
  }
  return { ...config, auth: authOf(config), folder: dirname(file) };
}

/** @throws ConfigInvalid: a word nobody knows must not leave the door open */
export function authOf({ auth = 'open' }: { readonly auth?: LocalAuth }): LocalAuth {
  const mode = AUTH_MODES.find((known) => known === auth);
  if (mode !== undefined) return mode;
  throw new ConfigInvalid(`auth is ${JSON.stringify(auth)}: write 'open' or 'tokens'`);
}

function findConfig(): string | undefined {
  return CONFIG_FILES.map((name) => resolve(name)).find((name) => existsSync(name));
}

/** Once `tsx` is loaded (as under `--import tsx`), Node reads TypeScript by itself. */
async function importTypeScript(file: string): Promise<unknown> {
  const { register } = await import('tsx/esm/api');
  register();
  return import(pathToFileURL(file).href);
}

function isConfig(value: unknown): value is LocalConfig {
  return (
    typeof value === 'object' &&
    value !== null &&
    'sagas' in value &&
    'tools' in value &&
    Array.isArray(value.sagas) &&
    Array.isArray(value.tools)
  );
}
