import { RECOVERY } from './scenarios.ts';
import { describeSweep } from './sweep-suite.ts';

describeSweep('fault sweep: a refund that is undone', RECOVERY);
