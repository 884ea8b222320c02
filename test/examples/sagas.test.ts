import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hasSensitive, sensitiveValues } from 'counterstep';
import { build } from 'esbuild';
import { afterEach, describe, expect, it, vi } from 'vitest';
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
  const tools = [
    ...Object.values(refundTools({ partnersUrl: 'http://x', smtpUrl: 'smtp://x' })),
    ...Object.values(orderTools({ partnersUrl: 'http://x' })),
  ];

  it('have one function per tool of a saga, named like the tool', () => {
    const functions = ['refund/lambdas', 'order/lambdas'].flatMap((path) => readdirSync(at(path)));
    const names = tools.map(({ contract }) => `${contract.name}.lambda.ts`);
    expect(functions.toSorted()).toEqual(names.toSorted());
  });

  it.each(['refund', 'order', 'document'])(
    '%s: the definition loads no implementation',
    async (name) => {
      const inputs = await inputsOf(`${name}/saga.ts`);
      const own = inputs.filter((path) => !path.includes('node_modules/zod/'));
      expect(own.toSorted()).toEqual(
        [
          'examples/limits.ts',
          `examples/${name}/contracts.ts`,
          `examples/${name}/saga.ts`,
        ].toSorted(),
      );
    },
  );

  it('a function holds what its own tool needs, and no client of a mail server', async () => {
    const libraries = async (entry: string): Promise<string[]> => {
      const inputs = await inputsOf(entry);
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
    const partners = await libraries('partners/partners.lambda.ts');
    expect(partners).toContain('hono');
    expect(partners).not.toContain('lmdb');
  });
});

/** Every file that a bundle of the entry would hold, the package itself left out. */
async function inputsOf(entry: string): Promise<string[]> {
  const { metafile } = await build({
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
  return Object.keys(metafile.inputs);
}
