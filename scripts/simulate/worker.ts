import { playShare, type Share } from './share.ts';

// Faults are thrown by the million; what they looked like where they were thrown interests nobody.
Error.stackTraceLimit = 0;

/** One process of many: plays the seeds it is sent, one share after the other. */
process.on('message', (share: Share) => {
  void playShare(share).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
