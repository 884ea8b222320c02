import type { ToolResult } from 'counterstep';
import { implementTool } from 'counterstep/lambda';
import { type Partners, post } from '../../http.ts';
import { reserveStock } from '../contracts.ts';

const RESERVATIONS = '/stock/reservations';

export function reserveStockTool(partners: Partners) {
  type Reservation = ToolResult<typeof reserveStock>;
  return implementTool(reserveStock, {
    forward: async (args, call) =>
      (await post<Reservation>(partners, RESERVATIONS, args, call)).body,
    compensate: async ({ reservationId }, call) => {
      const path = `${RESERVATIONS}/${encodeURIComponent(reservationId)}/release`;
      await post(partners, path, {}, call);
    },
  });
}
