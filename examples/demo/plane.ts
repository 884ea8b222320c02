import { openLocalPlane } from 'counterstep/local';
import config from '../counterstep.config.ts';

/**
 * The local plane over the example sagas, in a process that can be killed. `tokens` after the data folder
 * makes it ask for tokens.
 */
const [dataDir, auth] = process.argv.slice(2);
if (dataDir === undefined) throw new Error('name the data folder');

const plane = await openLocalPlane({
  ...config,
  dataDir,
  port: 0,
  auth: auth === 'tokens' ? 'tokens' : 'open',
});
process.stdout.write(`${JSON.stringify({ url: plane.url })}\n`);

const stop = (): void => {
  plane.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
};
process.once('SIGTERM', stop);
// The parent holds the other end: when it dies, so does this process.
process.stdin.once('end', stop).resume();
