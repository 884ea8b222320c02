import { FORWARD } from './scenarios.ts';
import { describeSweep } from './sweep-suite.ts';

describeSweep('fault sweep: a refund that goes forward', FORWARD);
