import { describeSeeds } from './simulate-suite.ts';

describeSeeds(1, 1_000);
