/** `counterstep/local`: the plane in one process, for laptops, tests and demonstrations. */
export type { LocalAuth, LocalConfig } from './config.ts';
export { ConfigInvalid, defineConfig, loadConfig } from './config.ts';
export type { DevOptions, LocalPlane, PlaneOptions } from './dev.ts';
export { LOCAL_PRINCIPAL, openLocalPlane, runDev } from './dev.ts';
export type { Engine, EngineOptions } from './engine.ts';
export { startEngine } from './engine.ts';
export type { TokenRequest } from './tokens.ts';
export { TokenInvalid, Tokens } from './tokens.ts';
