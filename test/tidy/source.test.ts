import { expect, test } from 'vitest';
import { importsOf, packageOf, split } from './source.ts';

function imports(text: string): string[] {
  return importsOf({ path: 'a/b.ts', text, ...split(text) }).map(({ specifier }) => specifier);
}

test('imports are found in every form, and not in comments or strings', () => {
  expect(
    imports(
      [
        "import { a } from './a.ts';",
        "import type { b } from '../b.ts';",
        "import 'side-effect';",
        "export * from '@scope/name/part';",
        "const late = await import('node:fs');",
        "// import { c } from './comment.ts';",
        "/** import './block.ts' */",
        `const text = "import x from './string.ts'";`,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text under test
        "const deep = `import './template.ts' ${await import('./hole.ts')} import './tail.ts'`;",
        "const pattern = /from '[^']*'/; import './after-pattern.ts';",
        "const half = a / b; import './after-division.ts';",
      ].join('\n'),
    ),
  ).toEqual([
    './a.ts',
    '../b.ts',
    'side-effect',
    '@scope/name/part',
    'node:fs',
    './hole.ts',
    './after-pattern.ts',
    './after-division.ts',
  ]);
});

test('what is left as code has neither comments nor words in strings, and keeps its length', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text under test
  const text = "const a = 'any'; // any\n/* any */ const b: any = `any ${a} any`;\n";
  const { code, pieces } = split(text);
  expect(code.match(/any/g)).toEqual(['any']);
  expect(code).toHaveLength(text.length);
  expect(pieces.map((piece) => piece.text)).toEqual(['any', ' any', ' any ', 'any ', ' any']);
});

test.each([
  ['node:fs/promises', 'node:fs'],
  ['@aws-sdk/client-sfn', '@aws-sdk/client-sfn'],
  ['hono/utils', 'hono'],
])('%s is of the package %s', (specifier, name) => expect(packageOf(specifier)).toBe(name));
