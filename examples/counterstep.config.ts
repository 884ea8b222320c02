import { defineConfig } from 'counterstep/local';
import { partnersUrl, smtpUrl } from './environment.ts';
import { order } from './order/saga.ts';
import { orderTools } from './order/tools.ts';
import { refund } from './refund/saga.ts';
import { refundTools } from './refund/tools.ts';

/** Both example sagas on this machine. `PARTNERS_URL` and `SMTP_URL` say where the outside systems are. */
const addresses = { partnersUrl: partnersUrl(), smtpUrl: smtpUrl() };

export default defineConfig({
  sagas: [refund, order],
  tools: [...Object.values(refundTools(addresses)), ...Object.values(orderTools(addresses))],
});
