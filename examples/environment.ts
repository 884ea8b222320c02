import type { SagaType } from 'counterstep';

/** Where the outside systems are, as a deployed function is told. */

/** Base URL of the partner systems, from `PARTNERS_URL`. */
export function partnersUrl(): string {
  return url('PARTNERS_URL', ['http:', 'https:']).replace(/\/$/, '');
}

/** `smtp://host:port` of the mail server, from `SMTP_URL`. */
export function smtpUrl(): string {
  return url('SMTP_URL', ['smtp:']);
}

/** Of the machines that all sagas run on, from `SAGA_TYPE`. Default `STANDARD`. */
export function sagaType(): SagaType {
  return process.env.SAGA_TYPE === 'EXPRESS' ? 'EXPRESS' : 'STANDARD';
}

/** The region a Lambda function runs in, from `AWS_REGION`. */
export function region(): string {
  return required('AWS_REGION');
}

/** @throws Error at the function's start, so that a wrong setting never looks like a partner's failure */
export function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') {
    throw new Error(`${name} is not set: set it in the function's environment`);
  }
  return value;
}

/** @throws Error as {@link required} does, and where it is no such URL */
function url(name: string, protocols: readonly string[]): string {
  const value = required(name);
  if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
    throw new Error(`${name} must be a URL with ${protocols.join(' or ')}: "${value}" is none`);
  }
  return value;
}
