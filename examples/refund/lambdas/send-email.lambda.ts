import { toolHandler } from 'counterstep/lambda';
import { sagaType, smtpUrl } from '../../environment.ts';
import { refundOf } from '../saga.ts';
import { sendEmailTool } from '../tools/send-email.ts';

export const handler = toolHandler(sendEmailTool({ smtpUrl: smtpUrl() }), {
  sagas: [refundOf(sagaType())],
});
