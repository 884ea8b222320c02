/** `counterstep/local`: the plane in one process, for laptops, tests and demonstrations. */
export type { LocalConfig } from './config.ts';
export { ConfigInvalid, defineConfig, loadConfig } from './config.ts';
export type { DevOptions, LocalPlane, PlaneOptions } from './dev.ts';
export { LOCAL_PRINCIPAL, openLocalPlane, runDev } from './dev.ts';
export type { Engine, EngineOptions } from './engine.ts';
export { startEngine } from './engine.ts';
