import { deployLocally } from './emulator/deploy.ts';

/**
 * `AWS_ENDPOINT_URL=http://127.0.0.1:4566 npm run deploy:local`: the example app to whatever stand-in for
 * AWS listens there. `PARTNERS_URL` and `AWS_ENDPOINT_URL_SESV2` name other outside systems than the deployed
 * partners and the stand-in's own SES, `EXAMPLES` fewer sagas than all (`refund,order`), `MAIL_FROM` who sends,
 * `JWT_ISSUER` and `JWT_AUDIENCE` whose tokens the API takes. Prints the stack's outputs.
 */
const endpoint = process.env.AWS_ENDPOINT_URL;
if (endpoint === undefined || endpoint === '') {
  process.stderr.write(
    'AWS_ENDPOINT_URL is not set: start a stand-in for AWS (npm run emulator) and set it to its endpoint\n',
  );
  process.exit(2);
}

const CONTEXT = {
  PARTNERS_URL: 'partnersUrl',
  AWS_ENDPOINT_URL_SESV2: 'sesUrl',
  EXAMPLES: 'examples',
  MAIL_FROM: 'mailFrom',
  JWT_ISSUER: 'jwtIssuer',
  JWT_AUDIENCE: 'jwtAudience',
  SAGA_TYPE: 'sagaType',
  // `none` for a stand-in without versions of state machines.
  MACHINE_VERSIONS: 'counterstep:machineVersions',
} as const;

const context = Object.fromEntries(
  Object.entries(CONTEXT).flatMap(([variable, name]) => {
    const value = process.env[variable];
    return value === undefined || value === '' ? [] : [[name, value]];
  }),
);
const s3Endpoint = process.env.AWS_ENDPOINT_URL_S3;

try {
  const outputs = await deployLocally({
    endpoint,
    ...(s3Endpoint === undefined ? {} : { s3Endpoint }),
    context,
    say: (text) => process.stderr.write(text),
  });
  process.stdout.write(`${JSON.stringify(outputs)}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
