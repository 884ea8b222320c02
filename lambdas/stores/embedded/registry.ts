import type { Registry } from '../../ports/registry.ts';
import { cursorAfter, dueRange, entryAt, positionOf } from '../due-order.ts';
import { nameKey } from './keys.ts';
import { durable, type OpenTable } from './table.ts';

/** The key says it all; a value must not be empty. */
const PRESENT = '1';

export function embeddedRegistry(open: OpenTable): Registry {
  return {
    async add(entry) {
      const key = nameKey(positionOf(entry));
      await open.during((table) => durable(table.put(key, PRESENT)));
    },

    async remove(entry) {
      const key = nameKey(positionOf(entry));
      await open.during((table) => durable(table.remove(key)));
    },

    async due(untilMs, limit, cursor) {
      const { from, to } = dueRange(untilMs, limit, cursor);
      const found: string[] = [];
      for (const key of open.now().getKeys({
        start: nameKey(from),
        end: nameKey(to),
        limit: limit + 1,
      })) {
        found.push(key.toString('utf8'));
      }
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const entries = page.map(entryAt);
      return found.length > limit && last !== undefined
        ? { entries, cursor: cursorAfter(last) }
        : { entries };
    },
  };
}
