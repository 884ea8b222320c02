import { describe, expect, it } from 'vitest';
import { redactText } from '../../../statemachines/ledger/redact.ts';

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJqYW5lIn0.c2lnbmF0dXJlLWJ5dGVz';

describe('redactText', () => {
  it.each([
    ['a bearer token', 'refused: Bearer abc.def-123456', 'refused: Bearer ***'],
    ['basic credentials', 'sent Basic amFuZTpodW50ZXIy to it', 'sent Basic *** to it'],
    ['a JWT', `token was ${JWT}, expired`, 'token was ***, expired'],
    ['a header', `Authorization: Digest user=x, y=z\nnext`, 'Authorization: ***\nnext'],
    [
      'a header in JSON',
      `{"authorization":"AWS4 a=b, c=d","x":1}`,
      '{"authorization":"***","x":1}',
    ],
    ['a cookie', 'set-cookie: a=1; b=2', 'set-cookie: ***'],
    ['an API key', 'GET /?api_key=k123&x=1', 'GET /?api_key=***&x=1'],
    ['a header of its own', 'x-api-key: k123 was wrong', 'x-api-key: *** was wrong'],
    ['a prefixed name', 'STRIPE_SECRET_KEY=abc def', 'STRIPE_SECRET_KEY=*** def'],
    ['a quoted password', `{"dbPassword": "a b, c", "n":1}`, '{"dbPassword": "***", "n":1}'],
    ['a password with a quote in it', '{"pwd":"a\\"b","n":1}', '{"pwd":"***","n":1}'],
    ['JSON inside JSON', '{\\"token\\":\\"abc\\",\\"n\\":1}', '{\\"token\\":\\"***",\\"n\\":1}'],
    ['single quotes', "{ secret: 'a b', n: 1 }", "{ secret: '***', n: 1 }"],
    ['quotes inside a header', `authorization: Digest a="b", c="d"`, 'authorization: ***'],
    ['a password in a URL', 'postgres://app:s3cr3t@db/x', 'postgres://***@db/x'],
    ['a provider’s key', 'used sk_live_4eC39HqLyjWDarjtT1 here', 'used *** here'],
    ['an AWS key id', 'id AKIAIOSFODNN7EXAMPLE unknown', 'id *** unknown'],
    ['an e-mail address', 'no account jane.doe+x@mail.example.org!', 'no account ***!'],
    ['a card number', 'card 4111111111111111 declined', 'card *** declined'],
    ['a grouped card number', 'item 1 4111 1111 1111 1111 9', 'item 1 *** 9'],
    ['a card number with dashes', '5500-0000-0000-0004', '***'],
    ['a short card number', 'amex 378282246310005.', 'amex ***.'],
    [
      'a private key',
      'x -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- y',
      'x *** y',
    ],
    ['a cut private key', 'x -----BEGIN PRIVATE KEY-----\nMIIE', 'x ***'],
  ])('masks %s', (_what, text, masked) => {
    expect(redactText(text)).toBe(masked);
  });

  it.each([
    'connect ECONNREFUSED 10.0.0.7:443',
    'order 4111111111111112 unknown', // wrong check digit
    'at 1700000000004 (ms) after 12345678901234567890 tries',
    'basic authentication is not supported',
    'ratio 3.14159265358979, id 7f3c9a',
    'user@localhost said no',
  ])('leaves %s as it is', (text) => {
    expect(redactText(text)).toBe(text);
  });

  it('masks given secrets in the encodings they travel in', () => {
    const secret = 'p&ss "wörd"';
    const texts = [
      secret,
      JSON.stringify(secret),
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64'),
    ];
    for (const text of texts) {
      expect(redactText(`<${text}>`, { secrets: [secret] })).toMatch(/^<"?\*\*\*"?=*>$/);
    }
  });

  it('masks overlapping secrets whole, and ignores those too short to be any', () => {
    expect(redactText('xabcdefgx', { secrets: ['abcd', 'cdefg'] })).toBe('x***x');
    expect(redactText('aaaaaaaa', { secrets: ['aaaa'] })).toBe('***');
    expect(redactText('a cab', { secrets: ['a', ''] })).toBe('a cab');
  });

  it('cuts to the given length, never through a character', () => {
    expect(redactText('x'.repeat(600))).toHaveLength(500);
    expect(redactText('abcdef', { maxLength: 4 })).toBe('abc…');
    expect(redactText('ab😀def', { maxLength: 4 })).toBe('ab…');
    expect(redactText('ok', { maxLength: 2 })).toBe('ok');
  });

  it('masks before it cuts', () => {
    expect(
      redactText(`${'-'.repeat(10)}hunter2hunter2`, { secrets: ['hunter2hunter2'], maxLength: 14 }),
    ).toBe('----------***');
  });

  it('repairs broken surrogates, so that the text can enter the ledger', () => {
    expect(redactText('a\ud83db\ude00')).toBe('a\ufffdb\ufffd');
  });

  it('reads hostile texts of a megabyte', () => {
    const pieces = [
      'eyJ',
      '-eyJ',
      'a@',
      'a.',
      '4111 ',
      '1 ',
      '://a:',
      'basic a',
      'token',
      'sk_',
      '"',
    ];
    for (const piece of pieces) {
      expect(redactText(piece.repeat(1_000_000 / piece.length)).length).toBeLessThanOrEqual(500);
    }
  });
});
