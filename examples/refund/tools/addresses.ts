/** Where the partner systems are. */
export interface PartnersUrl {
  readonly partnersUrl: string;
}

/** Where the mail server is. */
export interface SmtpUrl {
  /** `smtp://host:port` */
  readonly smtpUrl: string;
}
