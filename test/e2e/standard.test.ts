import { planeSuite } from './plane-suite.ts';

planeSuite('STANDARD');
