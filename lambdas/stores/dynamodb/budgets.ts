import { type AttributeValue, type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { Cost } from '../../../statemachines/rules/events.ts';
import {
  exceeded,
  limitIn,
  NO_USAGE,
  type TenantBudget,
  type TenantUsage,
} from '../../../statemachines/rules/tenant-budget.ts';
import { StoreUnavailable } from '../../ports/ledger-store.ts';
import type { TenantBudgets } from '../../ports/tenant-budgets.ts';
import { checkedReserve, checkedTenant, ledgerKey } from '../checks.ts';
import { oneByOne, type TwoItems, transaction } from './budget-writes.ts';
import { answered } from './errors.ts';
import type { AppendMode } from './ledger.ts';
import type { Item } from './sorted-partitions.ts';
import { checkedTableName } from './tables.ts';

/** Two charges of a tenant at one moment refuse each other; a later try finds its turn. */
const TRIES = 10;

const SUM = 'sum';
const RESERVED = 'reserved_';

/**
 * In the coordination table, a partition `budget#<tenant>`: an item for each open saga, and one with
 * their sum. Both change together or not at all. In `conditional-put` mode, for servers without
 * transactions, they change one after the other: what a process leaves half done there stays so.
 */
export function dynamoBudgets(
  client: DynamoDBClient,
  tableName: string,
  mode: AppendMode,
): TenantBudgets {
  const TableName = checkedTableName(tableName);
  const write = mode === 'partiql' ? transaction(client) : oneByOne(client);

  const get = async (tenant: string, sk: string): Promise<Item | undefined> => {
    const { Item } = await answered('reading a budget', () =>
      client.send(
        new GetItemCommand({ TableName, Key: itemKey(tenant, sk), ConsistentRead: true }),
      ),
    );
    return Item;
  };
  const usage = async (tenant: string): Promise<TenantUsage> => usageIn(await get(tenant, SUM));

  /** @returns which of the two conditions did not hold, or nothing where both items changed */
  const change = async (items: TwoItems): Promise<'saga' | 'sum' | undefined> => {
    for (let tries = 1; ; tries += 1) {
      const failed = await answered('changing a budget', () => write(items));
      if (failed !== 'busy') return failed;
      if (tries === TRIES) {
        throw new StoreUnavailable('many sagas of this tenant start or end at once: try again', {
          throttled: true,
        });
      }
    }
  };

  return {
    async charge(charge, budget) {
      ledgerKey(charge);
      const { tenant, sagaId } = charge;
      const reserve = checkedReserve(charge.reserve);
      const never = exceeded(NO_USAGE, reserve, budget);
      if (never !== undefined) return { kind: 'refused', budget: never };
      for (let tries = 1; ; tries += 1) {
        const failed = await change({
          saga: {
            Put: {
              TableName,
              Item: { ...itemKey(tenant, sagaKey(sagaId)), ...reserveItem(reserve) },
              ConditionExpression: NOT_CHARGED,
            },
          },
          sum: { TableName, Key: itemKey(tenant, SUM), ...adding(reserve, 1, budget) },
        });
        if (failed !== 'sum') return { kind: 'charged' };
        // Read anew to say which; by now there may be room again.
        const spent = exceeded(await usage(tenant), reserve, budget);
        if (spent !== undefined) return { kind: 'refused', budget: spent };
        if (tries === TRIES) {
          throw new StoreUnavailable('the budget changes too fast: try again', { throttled: true });
        }
      }
    },

    async giveBack(saga) {
      ledgerKey(saga);
      const { tenant, sagaId } = saga;
      const held = await get(tenant, sagaKey(sagaId));
      if (held === undefined) return false;
      const Key = itemKey(tenant, sagaKey(sagaId));
      const failed = await change({
        saga: { Delete: { TableName, Key, ConditionExpression: CHARGED } },
        sum: { TableName, Key: itemKey(tenant, SUM), ...adding(reserveIn(held), -1, {}) },
      });
      return failed === undefined;
    },

    async isCharged(saga) {
      ledgerKey(saga);
      return (await get(saga.tenant, sagaKey(saga.sagaId))) !== undefined;
    },

    usage: async (tenant) => usage(checkedTenant(tenant)),
  };
}

const NOT_CHARGED = 'attribute_not_exists(pk)';
const CHARGED = 'attribute_exists(pk)';

function itemKey(tenant: string, sk: string) {
  return { pk: { S: `budget#${tenant}` }, sk: { S: sk } };
}

function sagaKey(sagaId: string): string {
  return `saga#${sagaId}`;
}

function reserveItem(reserve: Cost | undefined): Record<string, AttributeValue> {
  if (reserve === undefined) return {};
  return { costMinor: { N: String(reserve.costMinor) }, currency: { S: reserve.currency } };
}

function reserveIn(item: Item): Cost | undefined {
  const { costMinor, currency } = item;
  if (costMinor?.N === undefined || currency?.S === undefined) return undefined;
  return { costMinor: Number(costMinor.N), currency: currency.S };
}

function usageIn(item: Item | undefined): TenantUsage {
  const recoveryCostMinor: Record<string, number> = {};
  for (const [name, value] of Object.entries(item ?? {})) {
    if (name.startsWith(RESERVED)) {
      recoveryCostMinor[name.slice(RESERVED.length)] = Number(value.N);
    }
  }
  return { openSagas: Number(item?.openSagas?.N ?? 0), recoveryCostMinor };
}

/** Adds one saga to the sum, or takes one away, where the budget has room for it. */
function adding(reserve: Cost | undefined, by: 1 | -1, budget: TenantBudget) {
  const changes = ['#open :by'];
  const conditions: string[] = [];
  const names: Record<string, string> = { '#open': 'openSagas' };
  const values: Record<string, AttributeValue> = { ':by': { N: String(by) } };
  if (budget.openSagas !== undefined) {
    conditions.push(roomIn('#open', ':mostOpen'));
    values[':mostOpen'] = { N: String(budget.openSagas - 1) };
  }
  if (reserve !== undefined) {
    changes.push('#reserved :cost');
    names['#reserved'] = `${RESERVED}${reserve.currency}`;
    values[':cost'] = { N: String(by * reserve.costMinor) };
    const limit = limitIn(budget, reserve.currency);
    if (limit !== undefined) {
      conditions.push(roomIn('#reserved', ':mostReserved'));
      values[':mostReserved'] = { N: String(limit - reserve.costMinor) };
    }
  }
  return {
    UpdateExpression: `ADD ${changes.join(', ')}`,
    ...(conditions.length === 0 ? {} : { ConditionExpression: conditions.join(' AND ') }),
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
  };
}

/** Holds while the sum is low enough for what is added. An item that never was holds nothing. */
function roomIn(name: string, most: string): string {
  return `(attribute_not_exists(${name}) OR ${name} <= ${most})`;
}
