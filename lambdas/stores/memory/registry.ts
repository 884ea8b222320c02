import type { Registry } from '../../ports/registry.ts';
import { cursorAfter, dueRange, entryAt, positionOf } from '../due-order.ts';

/** Positions of all entries, as `due-order.ts` writes them. */
export type MemoryRegistry = Set<string>;

export function memoryRegistry(positions: MemoryRegistry): Registry {
  return {
    async add(entry) {
      positions.add(positionOf(entry));
    },

    async remove(entry) {
      positions.delete(positionOf(entry));
    },

    async due(untilMs, limit, cursor) {
      const range = dueRange(untilMs, limit, cursor);
      const due = [...positions].filter((at) => at >= range.from && at < range.to).sort();
      const page = due.slice(0, limit);
      const last = page.at(-1);
      const entries = page.map(entryAt);
      return due.length > limit && last !== undefined
        ? { entries, cursor: cursorAfter(last) }
        : { entries };
    },
  };
}
