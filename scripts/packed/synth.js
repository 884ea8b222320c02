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
const resources = Object.values(template.Resources);
const ofType = (type) => resources.filter((resource) => resource.Type === type);
assert.equal(ofType('AWS::StepFunctions::StateMachine').length, 1);
const functions = ofType('AWS::Lambda::Function').map(({ Properties }) => Properties.Description);
assert.ok(functions.some((description) => description.includes('book-seat')));
