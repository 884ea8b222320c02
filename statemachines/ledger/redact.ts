import { wellFormed } from './ijson-error.ts';

export interface RedactOptions {
  /** Values known to be sensitive. Those under 4 characters are ignored: they are part of any text. */
  readonly secrets?: readonly string[];
  /** Length of the answer in UTF-16 units (default 500; at least 1). */
  readonly maxLength?: number;
}

const SHORTEST_SECRET = 4;
/** Far beyond what is kept; bounds the cost of a hostile message. */
const LONGEST_SEARCHED = 65_536;
/** Shorter than any secret: masking always shrinks a text, and so comes to an end. */
const MASK = '***';

/**
 * Makes a text from outside (an error's message) fit for the ledger and the logs, where it can
 * never be removed again. Masks the given secrets (also URL-, JSON- and base64-encoded), private
 * keys, JWTs, bearer and basic credentials, passwords in URLs, values assigned to names like
 * `authorization`, `api_key` or `password`, e-mail addresses and card numbers; repairs broken
 * surrogates; cuts what is too long.
 *
 * Certain for the given secrets; a good net, no more, for the patterns. A message may lose a
 * harmless word (`token: expired`); better that than keep a token.
 */
export function redactText(text: string, options: RedactOptions = {}): string {
  const secrets = variantsOf(options.secrets ?? []);
  const maxLength = Math.max(1, options.maxLength ?? 500);
  let masked = maskSecrets(text, secrets).slice(0, LONGEST_SEARCHED);
  for (const { pattern, replacement } of PATTERNS) masked = masked.replace(pattern, replacement);
  masked = masked.replace(DIGIT_RUN, maskCards);
  masked = cut(wellFormed(masked), maxLength);
  // Masking, repair and cutting put new neighbours together, which may spell a secret again.
  for (;;) {
    const next = wellFormed(maskSecrets(masked, secrets));
    if (next === masked) return masked;
    masked = next;
  }
}

function variantsOf(secrets: readonly string[]): readonly string[] {
  const variants = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    variants.add(secret);
    variants.add(JSON.stringify(secret).slice(1, -1));
    variants.add(encodeURIComponent(wellFormed(secret)));
    const bytes = Buffer.from(secret, 'utf8');
    variants.add(bytes.toString('base64').replace(/=+$/, ''));
    variants.add(bytes.toString('base64url'));
  }
  return [...variants].filter((variant) => variant.length >= SHORTEST_SECRET);
}

/** One mask for each stretch covered by any occurrence, overlapping ones included. */
function maskSecrets(text: string, secrets: readonly string[]): string {
  const stretches: { start: number; end: number }[] = [];
  for (const secret of secrets) {
    for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1)) {
      stretches.push({ start: at, end: at + secret.length });
    }
  }
  if (stretches.length === 0) return text;
  stretches.sort((a, b) => a.start - b.start);
  let masked = '';
  let done = 0;
  for (const { start, end } of stretches) {
    if (start >= done) masked += text.slice(done, start) + MASK;
    done = Math.max(done, end);
  }
  return masked + text.slice(done);
}

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(0, maxLength - 1);
  // Not through the middle of a pair.
  return `${/[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}

const NAMES =
  'authorization|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|secret|passw(?:or)?d|passphrase|pwd|token|cookie|session[-_ ]?id|signature|credential';
/** A sensitive name (or one that holds it: `STRIPE_SECRET_KEY`), `:` or `=`, and an opening quote. */
const ASSIGNED = String.raw`(?:${NAMES})[\w-]{0,20}["'\\]{0,4}\s{0,4}[:=]\s{0,4}(?:\\?"|')?`;
/** Up to the closing quote of its kind (`\"` in JSON inside JSON), or the end of a bare word. */
const VALUE = [
  String.raw`(?<=\\")[^"\r\n]*`,
  String.raw`(?<=")(?:[^"\\\r\n]|\\.)*`,
  String.raw`(?<=')[^'\r\n]*`,
  String.raw`[^\s"',;&}\])]+`,
].join('|');

/**
 * Each matches in one pass: a quantifier is bounded, or what follows it cannot fail, so that a
 * hostile message costs no more than its length.
 */
const PATTERNS: readonly { readonly pattern: RegExp; readonly replacement: string }[] = [
  {
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}-----|$)/g,
    replacement: MASK,
  },
  // JWT and JWE in compact form: the header is an object, which begins `eyJ`.
  {
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){1,4}/g,
    replacement: MASK,
  },
  // A header's value may have spaces and quotes (`Digest user="x", …`): all to the end of the line.
  // In JSON it is quoted as a whole, and left to the assignments below.
  {
    pattern:
      /\b((?:proxy-)?authorization|(?:set-)?cookie)(["'\\]{0,4}\s{0,4}[:=])(?!\s{0,4}\\?")[^\r\n]+/gi,
    replacement: `$1$2 ${MASK}`,
  },
  { pattern: /\b(bearer\s{1,4})[A-Za-z0-9._~+/=-]{6,}/gi, replacement: `$1${MASK}` },
  {
    pattern: /\b((?:[Bb]asic|BASIC)\s{1,4})(?=[a-z+/]{0,64}[A-Z0-9=])[A-Za-z0-9+/=]{6,}/g,
    replacement: `$1${MASK}`,
  },
  { pattern: new RegExp(`(${ASSIGNED})(?:${VALUE})`, 'gi'), replacement: `$1${MASK}` },
  { pattern: /(:\/\/)[^\s/@:]{0,128}:[^\s/@]{1,256}@/g, replacement: `$1${MASK}@` },
  // Keys that name themselves: payment and code-hosting providers, AWS key ids.
  {
    pattern:
      /(?<![A-Za-z0-9_-])(?:[srp]k|whsec|gh[opsu]|github_pat|glpat|xox[abeprs])[-_][A-Za-z0-9_-]{10,}/g,
    replacement: MASK,
  },
  { pattern: /(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/g, replacement: MASK },
  {
    pattern: /[\p{L}\p{N}._%+'-]{1,128}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/gu,
    replacement: MASK,
  },
];

const DIGIT_RUN = /\d(?:[ -]?\d)*/g;

/** Masks those whole groups of a run (`4111 1111 1111 1111`) that together are a card number. */
function maskCards(run: string): string {
  const groups = run.split(/([ -])/);
  let masked = '';
  for (let from = 0; from < groups.length; from++) {
    const length = cardLength(groups, from);
    masked += length > 0 ? MASK : (groups[from] ?? '');
    from += Math.max(0, length - 1);
  }
  return masked;
}

/** How many entries of `groups` (digits and separators in turn) from there on are one card number. */
function cardLength(groups: readonly string[], from: number): number {
  let digits = '';
  for (let to = from; to < groups.length && digits.length < 19; to += 2) {
    digits += groups[to] ?? '';
    if (isCardNumber(digits)) return to - from + 1;
  }
  return 0;
}

/** 13 to 19 digits that begin as issuers' numbers do and end in the right check digit (Luhn). */
function isCardNumber(digits: string): boolean {
  if (!/^(?:[3-6]|2[2-7])\d{11,17}\d$/.test(digits)) return false;
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = digits.charCodeAt(digits.length - 1 - place) - 48;
    const doubled = place % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
