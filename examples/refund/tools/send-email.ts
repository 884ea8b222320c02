import { implementTool } from 'counterstep/lambda';
import { sendEmail } from '../contracts.ts';
import type { Deliver } from '../email.ts';

export function sendEmailTool(deliver: Deliver) {
  return implementTool(sendEmail, {
    forward: async (args, call) => ({ messageId: await deliver(args, call) }),
  });
}
