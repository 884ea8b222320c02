import { planeSuite } from './plane-suite.ts';

planeSuite('EXPRESS');
