import type { ToolResult } from 'counterstep';
import { implementTool } from 'counterstep/lambda';
import { post } from '../../http.ts';
import { reserveStock } from '../contracts.ts';
import type { PartnersUrl } from './addresses.ts';

export function reserveStockTool({ partnersUrl }: PartnersUrl) {
  return implementTool(reserveStock, {
    forward: async (args, call) => {
      const url = `${partnersUrl}/stock/reservations`;
      const { body } = await post<ToolResult<typeof reserveStock>>(url, args, call);
      return body;
    },
    compensate: async ({ reservationId }, call) => {
      const url = `${partnersUrl}/stock/reservations/${encodeURIComponent(reservationId)}/release`;
      await post(url, {}, call);
    },
  });
}
