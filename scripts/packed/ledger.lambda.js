import { ledgerHandler } from 'counterstep/lambda';
import { trip } from './trip.js';

export const handler = ledgerHandler({ sagas: [trip] });
