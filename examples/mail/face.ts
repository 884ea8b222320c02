/** One way to hand messages to the sink. */
export interface Face {
  readonly port: number;
  stop(): Promise<void>;
}
