import type { PartnerSystem } from '../operation.ts';
import { read, refusal } from '../operation.ts';

const get = read({
  name: 'get',
  path: '/:customerId',
  answer(_query, { customerId }) {
    if (customerId === undefined || !/^C-\d+$/.test(customerId)) {
      return refusal(404, 'unknown_customer', `No customer ${customerId}: ids look like C-17.`);
    }
    return {
      kind: 'answer',
      body: { customerId, email: `${customerId.toLowerCase()}@example.com`, creditClass: 3 },
    };
  },
});

/** The customer master: read-only. Every id of the form `C-<digits>` exists. */
export const customers: PartnerSystem = {
  name: 'customers',
  honoursKeys: false,
  operations: [get],
};
