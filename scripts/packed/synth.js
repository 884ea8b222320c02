import assert from 'node:assert/strict';
import { App, Stack } from 'aws-cdk-lib';
import { SagaPlane } from 'counterstep/cdk';
import { trip } from './trip.js';

/** The plane with one saga, bundled from the installed package. */
const app = new App({ outdir: 'cdk.out', analyticsReporting: false });
const stack = new Stack(app, 'Trips');
const plane = new SagaPlane(stack, 'Sagas', { ledgerEntry: 'ledger.lambda.js' });
plane.tool(trip.steps[0].tool, { entry: 'book-seat.lambda.js' });
plane.saga(trip);

const { template } = app.synth().getStackByName('Trips');
const types = Object.values(template.Resources).map((resource) => resource.Type);
const count = (type) => types.filter((each) => each === type).length;
assert.equal(count('AWS::StepFunctions::StateMachine'), 1);
assert.equal(count('AWS::Lambda::Function'), 3);
