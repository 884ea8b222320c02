import { describeSeeds } from './simulate-suite.ts';

describeSeeds(1_001, 1_000);
