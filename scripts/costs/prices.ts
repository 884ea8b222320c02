import { readFileSync } from 'node:fs';

export interface Price {
  readonly usd: number;
  readonly per: string;
  /** Where AWS (or the vendor) states it. */
  readonly page: string;
  /** False where it could not be looked up on the date of the list. */
  readonly confirmed: boolean;
}

const NAMES = [
  'standardTransition',
  'expressRequest',
  'expressGbSecond',
  'lambdaRequest',
  'lambdaGbSecond',
  'durableOperation',
  'dynamoWrite',
  'dynamoRead',
  'dynamoProvisionedWriteHour',
  'dynamoGbMonth',
  'dynamoBackupGbMonth',
  'dynamoStreamRead',
  'httpApiRequest',
  'busEvent',
  'logGb',
  'trace',
  'hostedActionLow',
  'hostedActionHigh',
] as const;
export type PriceName = (typeof NAMES)[number];

export interface PriceList {
  readonly region: string;
  readonly date: string;
  readonly note: string;
  readonly prices: Readonly<Record<PriceName, Price>>;
}

/** @throws Error that names a price which is missing */
export function readPrices(file: string): PriceList {
  const list = JSON.parse(readFileSync(file, 'utf8')) as Partial<PriceList>;
  for (const name of NAMES) {
    if (typeof list.prices?.[name]?.usd !== 'number') {
      throw new Error(`${file} has no price ${name}: add it with its page`);
    }
  }
  return list as PriceList;
}
