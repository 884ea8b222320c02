import { optionsOf, playShare, type Share } from './share.ts';

// Faults are thrown by the million; what they looked like where they were thrown interests nobody.
Error.stackTraceLimit = 0;

const [count, shapes] = process.argv.slice(2).map(Number);
if (count === undefined || shapes === undefined) throw new Error('give the count and the shapes');
const options = optionsOf({ count, shapes });

/** One process of many: plays the seeds it is sent, one share after the other. */
process.on('message', (share: Share) => {
  void playShare(share, options).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
