import { toolHandler } from 'counterstep/lambda';
import { sagaType } from '../../environment.ts';
import { deployedSes } from '../../outside.ts';
import { refundOf } from '../saga.ts';
import { bySes } from '../ses-mail.ts';
import { sendEmailTool } from '../tools/send-email.ts';

export const handler = toolHandler(sendEmailTool(bySes(deployedSes())), {
  sagas: [refundOf(sagaType())],
});
