import { expect, it } from 'vitest';
import { mimeText } from '../../examples/refund/mime-text.ts';

const partsOf = (message: string): [string, string] => {
  const end = message.indexOf('\r\n\r\n');
  return [message.slice(0, end), message.slice(end + 4)];
};

it('leaves plain text readable', () => {
  const [head, body] = partsOf(mimeText({ Subject: 'Your refund' }, 'One line.\nAnother.'));
  expect(head.split('\r\n')).toContain('Subject: Your refund');
  expect(body).toBe('One line.\r\nAnother.');
});

it('carries any script in ASCII lines of at most 76 characters, and loses nothing', () => {
  const subject = 'Rückerstattung für Bestellung 4711 – 返金のお知らせ 🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉';
  const [head, body] = partsOf(mimeText({ Subject: subject }, `${'ü'.repeat(100)}=`));
  for (const line of `${head}\r\n${body}`.split('\r\n')) expect(line).toMatch(/^[ -~]{0,76}$/);
  const words = [...head.matchAll(/=\?UTF-8\?B\?([^?]*)\?=/g)].map(([, word = '']) => word);
  expect(words.map((word) => Buffer.from(word, 'base64').toString()).join('')).toBe(subject);
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  expect(Buffer.from(bytes, 'latin1').toString()).toBe(`${'ü'.repeat(100)}=`);
});

it('refuses a value that would add a header of its own', () => {
  expect(() => mimeText({ Subject: 'Hello\r\nBcc: eve@example.com' }, '')).toThrow(/line break/);
});
