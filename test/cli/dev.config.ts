import { defineConfig } from '../../local/config.ts';
import { toolsOver } from '../service/live.ts';
import { sagas } from '../service/sagas.ts';

export default defineConfig({
  sagas,
  tools: toolsOver({ charge: 'works', refund: 'works', mail: 'works', effects: [] }),
});
