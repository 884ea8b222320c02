import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hasSensitive, sensitiveValues } from 'counterstep';
import { build } from 'esbuild';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { chosenExamples, exampleSaga } from '../../examples/chosen.ts';
import { documentTools } from '../../examples/document/tools.ts';
import { partnersUrl, smtpUrl } from '../../examples/environment.ts';
import { order } from '../../examples/order/saga.ts';
import { orderTools } from '../../examples/order/tools.ts';
import { refund } from '../../examples/refund/saga.ts';
import { refundTools } from '../../examples/refund/tools.ts';

const at = (path: string): string =>
  fileURLToPath(new URL(`../../examples/${path}`, import.meta.url));

describe('the refund', () => {
  it('undoes in reverse and ends with its pivot', () => {
    expect(refund.plan.forwardWaves).toEqual([['stock'], ['credit'], ['email']]);
    expect(refund.plan.recoveryWaves).toEqual([['email'], ['credit'], ['stock']]);
    expect(refund.plan.steps.at(-1)).toMatchObject({ name: 'email', effect: 'irreversible' });
  });

  it('builds what its tools take', () => {
    const input = {
      orderId: 'R-1',
      email: 'ann@example.com',
      sku: 'LAMP',
      quantity: 1,
      amountMinor: 1_905,
      currency: 'EUR',
      reason: 'broken',
    };
    const email = refund.steps.at(-1);
    const results = { credit: { creditNoteId: 'CN-1' } };
    expect(email?.input({ input, results })).toEqual({
      to: 'ann@example.com',
      subject: 'Your refund for order R-1',
      text: 'We have credited 19.05 EUR (credit note CN-1).',
    });
    expect(hasSensitive(refund.input)).toBe(true);
    expect(sensitiveValues(refund.input, input)).toEqual(['ann@example.com']);
  });
});

describe('the order', () => {
  it('frees goods and money only once the courier is called off', () => {
    expect(order.plan.recoveryWaves).toEqual([['courier'], ['payment', 'inventory']]);
    expect(order.steps.map(({ name }) => name)).toEqual([
      'customer',
      'inventory',
      'payment',
      'courier',
      'confirm',
    ]);
  });
});

describe('the choice of examples', () => {
  it('is all of them, or those that are named, in one order however they are written', () => {
    expect(chosenExamples()).toEqual(['refund', 'order', 'document']);
    expect(chosenExamples('order, refund')).toEqual(['refund', 'order']);
  });

  it.each(['', 'refund,', 'Order', 'toString'])(
    'of "%s" is an error that lists the names',
    (names) => {
      expect(() => chosenExamples(names)).toThrow('name some of refund,order,document');
    },
  );

  it.each(chosenExamples())('%s is the same on a machine of either type', (name) => {
    const [standard, express] = [exampleSaga(name, 'STANDARD'), exampleSaga(name, 'EXPRESS')];
    expect(standard.plan.sagaType).toBe('STANDARD');
    const { digest, ...plan } = standard.plan;
    expect(express.plan).toMatchObject({ ...plan, sagaType: 'EXPRESS' });
    expect(express.plan.digest).not.toBe(digest);
  });
});

describe('the environment of a function', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('names the partners, or says what is missing or wrong', () => {
    vi.stubEnv('PARTNERS_URL', 'http://partners.internal/');
    expect(partnersUrl()).toBe('http://partners.internal');
    vi.stubEnv('PARTNERS_URL', 'partners.internal');
    expect(partnersUrl).toThrow('PARTNERS_URL must be a URL with http: or https:');
    vi.stubEnv('SMTP_URL', '');
    expect(smtpUrl).toThrow('SMTP_URL is not set');
  });
});

describe('the files', () => {
  const partners = { partnersUrl: 'http://x' };
  const sagas = {
    refund: refundTools({ ...partners, smtpUrl: 'smtp://x' }),
    order: orderTools(partners),
    document: documentTools(partners),
  };

  it.each(Object.entries(sagas))(
    '%s: each tool has a function, named like the tool, with no code of another',
    async (name, tools) => {
      const entries = Object.entries(tools).map(([tool, { contract }]) => ({
        tool,
        entry: `${contract.name}.lambda.ts`,
      }));
      const functions = readdirSync(at(`${name}/lambdas`));
      expect(functions.toSorted()).toEqual(entries.map(({ entry }) => entry).toSorted());
      for (const { tool, entry } of entries) {
        const { code } = await bundled(`${name}/lambdas/${entry}`);
        const implemented = [...code.matchAll(/\bimplementTool\((\w+)/g)];
        expect(implemented.map(([, contract]) => contract)).toEqual([tool]);
      }
    },
  );

  it.each(Object.keys(sagas))('%s: the definition loads no implementation', async (name) => {
    const { inputs } = await bundled(`${name}/saga.ts`);
    const own = inputs.filter((path) => !path.includes('node_modules/zod/'));
    expect(own.toSorted()).toEqual(
      [
        'examples/limits.ts',
        `examples/${name}/contracts.ts`,
        `examples/${name}/saga.ts`,
      ].toSorted(),
    );
  });

  it('a function holds what its own tool needs, and no client of a mail server', async () => {
    const libraries = async (entry: string): Promise<string[]> => {
      const { inputs } = await bundled(entry);
      const names = inputs.map((path) => /node_modules\/([^/]+)/.exec(path)?.[1] ?? 'own');
      return [...new Set(names)].toSorted();
    };
    for (const name of ['send-email', 'reserve-stock']) {
      expect(await libraries(`refund/lambdas/${name}.lambda.ts`)).toEqual([
        'aws4fetch',
        'own',
        'zod',
      ]);
    }
    const outside = await libraries('partners/partners.lambda.ts');
    expect(outside).toContain('hono');
    expect(outside).not.toContain('lmdb');
  });
});

/** What a bundle of the entry would hold, the package itself left out, and every file it is made of. */
async function bundled(
  entry: string,
): Promise<{ readonly code: string; readonly inputs: string[] }> {
  const { metafile, outputFiles } = await build({
    absWorkingDir: at('..'),
    entryPoints: [at(entry)],
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['counterstep', 'counterstep/lambda'],
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  return { code: output.text, inputs: Object.keys(metafile.inputs) };
}
