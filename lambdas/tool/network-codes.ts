/** What a client's exception says about the connection it was made on. */

/** Raised before a connection stood. */
const NO_CONNECTION = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
];

/** Raised by the handshake, which comes before the first byte of a request. */
const NO_HANDSHAKE = [
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_TLS_HANDSHAKE_TIMEOUT',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
];

/** System calls that end before a byte of the request is sent, whatever their error is called. */
const BEFORE_SENDING = ['connect', 'getaddrinfo'];

/** How deep `fetch` and the SDKs wrap the network's own error, and then some. */
const MAX_DEPTH = 4;

/** The network's own code. `fetch` hides it in `cause`. */
export function networkCode(error: unknown): string | undefined {
  const found = chainOf(error).map((each) => each.code);
  return found.find((code): code is string => typeof code === 'string');
}

/** Certain that no byte of the request reached anybody. */
export function wasNeverSent(error: unknown): boolean {
  return chainOf(error).some(({ code, syscall, errors }) => {
    // Several addresses of one host were tried: each must have failed to connect.
    if (Array.isArray(errors) && errors.length > 0) return errors.every(wasNeverSent);
    if (typeof syscall === 'string' && BEFORE_SENDING.includes(syscall)) return true;
    return typeof code === 'string' && [...NO_CONNECTION, ...NO_HANDSHAKE].includes(code);
  });
}

/** The caller gave up: what the other side does with the request is not known. */
export function wasGivenUp(error: unknown): boolean {
  const names = chainOf(error).map((each) => each.name);
  return names.includes('AbortError') || names.includes('TimeoutError');
}

interface Link {
  readonly code?: unknown;
  readonly name?: unknown;
  readonly syscall?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
}

function chainOf(error: unknown): readonly Link[] {
  const links: Link[] = [];
  let current = error;
  while (typeof current === 'object' && current !== null && links.length <= MAX_DEPTH) {
    const link: Link = current;
    links.push(link);
    current = link.cause;
  }
  return links;
}
