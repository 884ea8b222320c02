import { toolHandler } from 'counterstep/lambda';
import { smtpUrl } from '../../environment.ts';
import { refund } from '../saga.ts';
import { sendEmailTool } from '../tools/send-email.ts';

export const handler = toolHandler(sendEmailTool({ smtpUrl: smtpUrl() }), { sagas: [refund] });
