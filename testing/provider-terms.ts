import { thrown } from '../lambdas/runtime/thrown.ts';
import { hold } from '../lambdas/tool/failures.ts';
import type { AnyTool } from '../statemachines/language/tool.ts';
import type { Action, Cost, ExternalIds } from '../statemachines/rules/events.ts';
import type { Chance } from './chance.ts';
import type { PartnerFacts } from './checker/records.ts';

/** What a contract says about ids, prices and the way back, as its simulated provider keeps to it. */

/** What a call of that kind is said to cost. */
export function estimateOf(tool: AnyTool, action: Action): Cost | undefined {
  const said = action === 'forward' ? tool.forwardCost : tool.cost;
  return said === undefined
    ? undefined
    : { costMinor: said.estimateMinor, currency: said.currency };
}

/** How far beyond or below its estimate a call ends. */
export function charged(how: 'costs_more' | 'costs_less', { costMinor, currency }: Cost): Cost {
  const changed = how === 'costs_more' ? costMinor + Math.ceil(costMinor / 3) : costMinor / 2;
  return { costMinor: Math.floor(changed), currency };
}

/** Mostly what was estimated, now and then less, or nothing, or more, or in other money; and sometimes it is not told. */
export function drawnCharge(chance: Chance, estimate: Cost): Cost | undefined {
  const sort = chance.fraction();
  if (sort < 0.5) return estimate;
  if (sort < 0.6) return undefined;
  if (sort < 0.63) return { ...estimate, costMinor: 0 };
  if (sort < 0.66) return { ...estimate, currency: estimate.currency === 'USD' ? 'EUR' : 'USD' };
  const most = sort < 0.8 ? estimate.costMinor : 2 * estimate.costMinor;
  return { ...estimate, costMinor: chance.between(1, Math.max(1, most)) };
}

/** The ids by which the outside world knows an effect. */
export function idsOf(tool: AnyTool, input: unknown, output: unknown): ExternalIds {
  let told: ExternalIds | undefined;
  try {
    told = tool.externalIds?.({ input, output });
  } catch (error) {
    throw hold('no_external_ids', `externalIds of "${tool.name}" failed with ${thrown(error)}`);
  }
  const ids = Object.entries(told ?? {});
  return Object.fromEntries(ids.map(([name, id]) => [name, String(id)]));
}

/** The call that undoes or contains what the tool does, as its contract declares it. */
export function recoveryOf(tool: AnyTool): Pick<PartnerFacts, 'recovery'> {
  const called = tool.effect === 'irreversible' ? tool.contain : tool.compensate;
  if (called === undefined) return {};
  const estimate = estimateOf(tool, 'compensate');
  return { recovery: estimate === undefined ? {} : { estimate } };
}
