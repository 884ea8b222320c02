import type { AnySaga } from 'counterstep';
import { document, documentOf } from '../../examples/document/saga.ts';
import { order, orderOf } from '../../examples/order/saga.ts';
import { refund, refundOf } from '../../examples/refund/saga.ts';
import { anySaga } from './any-saga.ts';
import { eager } from './eager.ts';
import { forgetful } from './forgetful.ts';
import { guarded } from './guarded.ts';

/**
 * What is simulated: the examples, each with a later version that is deployed in the middle, three that are
 * built to be hard, and so many definitions of any shape.
 */
export function simulatedSagas(shapes: number): readonly AnySaga[] {
  const shaped = Array.from({ length: shapes }, (_, index) => anySaga(index + 1));
  const first = [refund, orderOf('EXPRESS'), document, forgetful, eager, guarded];
  return [...first, ...shaped, refundOf('EXPRESS'), order, documentOf('EXPRESS')];
}
