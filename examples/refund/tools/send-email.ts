import { implementTool } from 'counterstep/lambda';
import { sendEmail } from '../contracts.ts';
import { deliver } from '../email.ts';
import type { SmtpUrl } from './addresses.ts';

export function sendEmailTool({ smtpUrl }: SmtpUrl) {
  return implementTool(sendEmail, {
    forward: async (args, call) => ({ messageId: await deliver(smtpUrl, args, call) }),
  });
}
