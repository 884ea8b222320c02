import type { AnySaga, SagaType } from 'counterstep';
import { documentOf } from './document/saga.ts';
import { sagaType } from './environment.ts';
import { orderOf } from './order/saga.ts';
import { refundOf } from './refund/saga.ts';

const SAGAS = { refund: refundOf, order: orderOf, document: documentOf } as const;

export type ExampleName = keyof typeof SAGAS;

const NAMES = Object.keys(SAGAS) as readonly ExampleName[];

/**
 * The example sagas that a deployment chooses.
 * @param names with commas between them, such as `refund,order`. Default: all
 * @throws Error that lists the names there are, where one is none of them
 */
export function chosenExamples(names: string = NAMES.join()): readonly ExampleName[] {
  const chosen = names.split(',').map((name) => name.trim());
  const unknown = chosen.filter((name) => !Object.hasOwn(SAGAS, name));
  if (unknown.length > 0) {
    throw new Error(
      `there is no example saga "${unknown.join()}": name some of ${NAMES.join()}, with commas between them, or none to have all`,
    );
  }
  return NAMES.filter((name) => chosen.includes(name));
}

/** An example saga for machines of that type. */
export function exampleSaga(name: ExampleName, type: SagaType): AnySaga {
  return SAGAS[name](type);
}

/** What a deployed function serves: the sagas named by `EXAMPLES`, for machines of `SAGA_TYPE`. */
export function deployedSagas(): readonly AnySaga[] {
  return chosenExamples(process.env.EXAMPLES).map((name) => exampleSaga(name, sagaType()));
}
