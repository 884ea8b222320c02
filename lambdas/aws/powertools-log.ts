import { Logger } from '@aws-lambda-powertools/logger';
import type { Log } from '../ports/log.ts';

type Keys = Readonly<Record<string, string | number>>;

/** A log of one function, whose lines carry the keys of the invocation that is running. */
export interface LambdaLog extends Log {
  /** From now on every line carries these keys, instead of those of the invocation before. */
  begin(keys: Keys): void;
}

/** Lines as JSON by Powertools. Level and service name come from its own environment variables. */
export function powertoolsLog(logger: Logger = new Logger()): LambdaLog {
  return {
    ...lines(logger, {}),
    begin(keys) {
      logger.resetKeys();
      logger.appendKeys(keys);
    },
  };
}

/** Keys of a line win over its data: what a line says of its saga is never overwritten by chance. */
function lines(logger: Logger, keys: Keys): Log {
  return {
    with: (more) => lines(logger, { ...keys, ...more }),
    info: (message, data) => logger.info(message, { ...data, ...keys }),
    warn: (message, data) => logger.warn(message, { ...data, ...keys }),
    error: (message, data) => logger.error(message, { ...data, ...keys }),
  };
}
