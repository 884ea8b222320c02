import { claimMutants } from './bank-claims.ts';
import { driveMutants } from './bank-drives.ts';
import { outboxMutants } from './bank-outbox.ts';
import { recoveryMutants } from './bank-recovery.ts';
import { standingMutants } from './bank-standing.ts';
import type { Mutant } from './mutant.ts';

/** Every breakage that the prover must find. */
export const bank: readonly Mutant[] = [
  ...claimMutants,
  ...recoveryMutants,
  ...standingMutants,
  ...driveMutants,
  ...outboxMutants,
];
