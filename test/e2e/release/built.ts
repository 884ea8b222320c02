import { one } from './one.ts';
import type { Release } from './shared.ts';
import { two } from './two.ts';

/** The release that a bundle was built for: put into its code by the app, so no environment changes it. */
export const built: Release = process.env.RELEASE === '2' ? two : one;
