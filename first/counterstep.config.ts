import { defineConfig } from 'counterstep/local';
import { trip } from './saga.ts';
import { bookSeatTool } from './tools.ts';

export default defineConfig({ sagas: [trip], tools: [bookSeatTool] });
