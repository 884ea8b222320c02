import { toolHandler } from 'counterstep/lambda';
import { built } from './built.ts';

/** Serves the tool that its function is named for. */
const tool = built.tools.find(({ contract }) => contract.name === process.env.TOOL);
if (tool === undefined) throw new Error(`this release has no tool "${process.env.TOOL}"`);

export const handler = toolHandler(tool, { sagas: built.sagas });
