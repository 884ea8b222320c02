/** Where the customer of that order gets messages. */
export function addressOf(orderId: string): string {
  return `${orderId}@customers.example`;
}

/** An input for the refund. */
export function refundOfOrder(orderId: string) {
  return {
    orderId,
    email: addressOf(orderId),
    sku: 'SKU-7',
    quantity: 1,
    amountMinor: 4_900,
    currency: 'EUR',
    reason: 'Arrived broken',
  };
}

/** An input for the order. */
export function orderOfId(orderId: string) {
  return {
    orderId,
    customerId: 'C-1',
    address: 'Example Street 1',
    sku: 'SKU-7',
    quantity: 1,
    amountMinor: 12_900,
    currency: 'EUR',
  };
}
