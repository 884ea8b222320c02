import { defineConfig } from 'counterstep/local';
import { documentOf } from './document/saga.ts';
import { documentTools } from './document/tools.ts';
import { partnersUrl, sagaType, smtpUrl } from './environment.ts';
import { orderOf } from './order/saga.ts';
import { orderTools } from './order/tools.ts';
import { refundOf } from './refund/saga.ts';
import { refundTools } from './refund/tools.ts';

/**
 * The example sagas on this machine. `PARTNERS_URL` and `SMTP_URL` say where the outside systems are,
 * `SAGA_TYPE` what type of machine the sagas are made for.
 */
const addresses = { partnersUrl: partnersUrl(), smtpUrl: smtpUrl() };

export default defineConfig({
  sagas: [refundOf(sagaType()), orderOf(sagaType()), documentOf(sagaType())],
  tools: [
    ...Object.values(refundTools(addresses)),
    ...Object.values(orderTools(addresses)),
    ...Object.values(documentTools(addresses)),
  ],
});
