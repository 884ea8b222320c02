import { refused } from 'counterstep/lambda';
import { encode, wrap } from 'nodemailer/lib/qp';

/**
 * A plain-text message as SMTP carries it (RFC 5322, RFC 2045, RFC 2047): ASCII only, lines short.
 * @throws refused where a header holds a line break, by which a value could add headers of its own
 */
export function mimeText(headers: Readonly<Record<string, string>>, text: string): string {
  const lines = Object.entries(headers).map(([name, value]) => {
    if (/[\r\n]/.test(value)) {
      throw refused('smtp_header', `the message's ${name} holds a line break`);
    }
    return `${name}: ${headerText(value)}`;
  });
  return [
    ...lines,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    wrap(encode(text.replace(/\r?\n/g, '\r\n'))),
  ].join('\r\n');
}

/** Characters per encoded word: four bytes each at most, so that a word stays below 75. */
const WORD_CHARACTERS = 10;

/** Plain where it is printable ASCII; else words that say their encoding, folded one to a line. */
function headerText(value: string): string {
  if (/^[ -~]*$/.test(value)) return value;
  const characters = [...value];
  const words: string[] = [];
  for (let at = 0; at < characters.length; at += WORD_CHARACTERS) {
    const word = characters.slice(at, at + WORD_CHARACTERS).join('');
    words.push(`=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`);
  }
  return words.join('\r\n ');
}
