import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bank } from '../../scripts/mutants/bank.ts';
import { edited } from '../../scripts/mutants/mutant.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('the bank of mutants', () => {
  it('holds no fewer than 25, each under a name of its own', () => {
    expect(bank.length).toBeGreaterThanOrEqual(25);
    expect(new Set(bank.map(({ name }) => name)).size).toBe(bank.length);
  });

  it.each(bank)('$name fits the engine as it is', ({ edits }) => {
    for (const { file } of edits) {
      const text = readFileSync(join(ROOT, file), 'utf8');
      expect(edited(file, text, edits)).not.toBe(text);
    }
  });

  it('is told in docs/simulation.md, mutant by mutant', () => {
    const page = readFileSync(join(ROOT, 'docs/simulation.md'), 'utf8');
    const untold = bank.filter(
      ({ name, why }) => !page.includes(`| \`${name}\``) || !page.includes(why),
    );
    expect(untold.map(({ name }) => name)).toEqual([]);
  });

  it('says which text does not fit any more', () => {
    const edit = { file: 'a.ts', find: 'one', replace: 'two' };
    expect(edited('a.ts', 'one', [edit])).toBe('two');
    for (const text of ['nothing', 'one and one']) {
      expect(() => edited('a.ts', text, [edit])).toThrow('a.ts holds');
    }
  });
});
