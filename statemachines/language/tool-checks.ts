import { SKEW_MS } from '../rules/protocol.ts';
import { breakerProblems } from './breaker-policy.ts';
import { DEFAULT_RETRY } from './defaults.ts';
import { DEDUPE_KINDS, EFFECT_CLASSES, type RetryPolicy } from './effects.ts';
import { nameProblems, versionProblems } from './names.ts';
import type { Problem } from './problems.ts';
import { isSchema } from './schema.ts';
import type { CallSpec, CostEstimate, ReadSpec, UncheckedToolSpec } from './tool.ts';

/** Lambda ends every invocation after 15 minutes; the rest is kept for asking and recording. */
export const MAX_TIMEOUT_MS = 14 * 60_000;
/** A year. What may land later than that is nothing that a saga can wait for. */
const MAX_SETTLE_MS = 366 * 86_400_000;

/** Everything that keeps a tool from being built. Types are not trusted: callers may be JavaScript. */
export function toolProblems(spec: UncheckedToolSpec): Problem[] {
  const place = `tool ${JSON.stringify(spec.name)}`;
  const problems = [
    ...nameProblems(place, spec.name),
    ...(spec.version === undefined ? [] : versionProblems(place, spec.version)),
  ];
  const add = (problem: string, remedy: string): void => {
    problems.push({ place, problem, remedy });
  };
  if (typeof spec.description !== 'string' || spec.description.trim() === '') {
    add(
      'it has no description',
      'Say in one sentence what it does, for people and agents who look for a tool',
    );
  }
  for (const [what, schema] of [
    ['input', spec.input],
    ['output', spec.output],
  ] as const) {
    if (!isSchema(schema))
      add(`its ${what} is not a zod 4 schema`, `Give \`${what}\` a schema of zod or zod/mini`);
  }
  if (!EFFECT_CLASSES.includes(spec.effect)) {
    add(
      `the effect class ${JSON.stringify(spec.effect)} does not exist`,
      `Use one of ${EFFECT_CLASSES.join(', ')}`,
    );
    return problems;
  }
  problems.push(...recoveryProblems(spec, place), ...breakerProblems(spec.breaker, place));
  if (spec.forwardCost !== undefined && !isCost(spec.forwardCost)) {
    add('its forwardCost is malformed', COST_REMEDY);
  }
  for (const [action, call] of callsOf(spec)) {
    problems.push(...callProblems(spec, action, call, `${place}, ${action}`));
  }
  return problems;
}

function callsOf(spec: UncheckedToolSpec): [string, CallSpec | ReadSpec | undefined][] {
  const calls: [string, CallSpec | ReadSpec | undefined][] = [['forward', spec.forward]];
  if (typeof spec.compensate === 'object') calls.push(['compensate', spec.compensate]);
  if (typeof spec.contain === 'object') calls.push(['contain', spec.contain]);
  return calls;
}

function recoveryProblems(spec: UncheckedToolSpec, place: string): Problem[] {
  const problems: Problem[] = [];
  const add = (problem: string, remedy: string): void => {
    problems.push({ place, problem, remedy });
  };
  const { effect } = spec;
  const undoable =
    effect === 'reversible' || effect === 'reversible_with_cost' || effect === 'compensable';
  if (undoable && spec.compensate === undefined) {
    add(
      `its effect is ${effect}, and it has no compensate`,
      'Declare `compensate`, or choose the effect class irreversible',
    );
  }
  if (!undoable && effect !== 'supersede' && spec.compensate !== undefined) {
    add(
      `its effect is ${effect}, and it has a compensate that would never run`,
      effect === 'irreversible'
        ? 'Use `contain`, or choose another effect class'
        : 'Remove `compensate`',
    );
  }
  if (effect !== 'irreversible' && spec.contain !== undefined) {
    add(
      `its effect is ${effect}, and it has a contain that would never run`,
      'Remove `contain`: only irreversible effects are contained',
    );
  }
  if (typeof spec.compensate === 'object') {
    const { input, from } = spec.compensate;
    if (!isSchema(input))
      add(
        'its compensate has no input schema',
        'Give `compensate.input` a schema of zod or zod/mini',
      );
    if (typeof from !== 'function')
      add(
        'its compensate has no from',
        "Give `compensate.from` a function that builds the undo's arguments",
      );
  }
  const cost: unknown = spec.cost;
  if (effect === 'reversible_with_cost' && cost === undefined) {
    add(
      'a reversible_with_cost effect has no cost',
      'Declare `cost: { estimateMinor, currency }`, or choose the effect class reversible',
    );
  }
  if (cost !== undefined) {
    if (effect === 'read_only' || effect === 'human_decision') {
      add(
        `its effect is ${effect}, and it has a cost, but no recovery of its own`,
        'Remove `cost`',
      );
    } else if (!isCost(cost)) {
      add('its cost is malformed', COST_REMEDY);
    }
  }
  return problems;
}

const COST_REMEDY =
  "Use `{ estimateMinor: <whole cents, 0 or more>, currency: 'EUR' }` with an ISO 4217 code";

export function isCost(cost: unknown): cost is CostEstimate {
  if (typeof cost !== 'object' || cost === null) return false;
  return isMinor(Reflect.get(cost, 'estimateMinor')) && isCurrency(Reflect.get(cost, 'currency'));
}

export function isMinor(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isCurrency(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Z]{3}$/.test(value);
}

function callProblems(
  spec: UncheckedToolSpec,
  action: string,
  call: CallSpec | ReadSpec | undefined,
  place: string,
): Problem[] {
  if (typeof call !== 'object' || call === null) {
    return [
      {
        place,
        problem: `${action} is not declared`,
        remedy: `Declare \`${action}: { dedupe, timeoutMs, settleMs }\``,
      },
    ];
  }
  const problems: Problem[] = [];
  const add = (problem: string, remedy: string): void => {
    problems.push({ place, problem, remedy });
  };
  const reads = spec.effect === 'read_only';
  const { dedupe } = call;
  if (dedupe === undefined ? !reads : !DEDUPE_KINDS.includes(dedupe)) {
    add(
      `dedupe is ${JSON.stringify(dedupe)}`,
      "Say 'key' (the provider honours our idempotency key), 'lookup' (it can be asked) or 'none'",
    );
  }
  if (dedupe === 'lookup' && spec.reconcile !== true) {
    add(
      "dedupe is 'lookup', but the tool has no reconcile to look it up with",
      "Set `reconcile: true` and implement it, or say 'none'",
    );
  }
  if (call.keyTtlMs !== undefined && dedupe !== 'key') {
    add("keyTtlMs is set, but dedupe is not 'key'", "Remove `keyTtlMs`, or say dedupe: 'key'");
  }
  const whole = (name: string, value: unknown, least: number, most: number): void => {
    if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
      const bounds =
        most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`;
      add(`${name} is ${JSON.stringify(value)}`, `Use whole milliseconds, ${bounds}`);
    }
  };
  whole('timeoutMs', call.timeoutMs, 1, MAX_TIMEOUT_MS);
  if (call.settleMs !== undefined || !reads) whole('settleMs', call.settleMs, 0, MAX_SETTLE_MS);
  for (const name of ['keyTtlMs', 'pendingForMs'] as const) {
    if (call[name] !== undefined) whole(name, call[name], 1, Number.MAX_SAFE_INTEGER);
  }
  // A call under a key has to arrive while the provider surely remembers it, by clocks that differ.
  const shortest = call.timeoutMs + SKEW_MS;
  if (dedupe === 'key' && call.keyTtlMs !== undefined && call.keyTtlMs <= shortest) {
    add(
      `keyTtlMs is ${JSON.stringify(call.keyTtlMs)}: the key may be forgotten before a call under it arrives`,
      `Use more than timeoutMs and ${SKEW_MS} ms for clocks that differ, which is ${shortest}, or say dedupe: 'lookup' or 'none'`,
    );
  }
  const retry = { ...DEFAULT_RETRY, ...spec.retry, ...call.retry };
  problems.push(...retryProblems(retry, place));
  if (retry.forMs !== undefined) {
    whole('retry.forMs', retry.forMs, call.timeoutMs, Number.MAX_SAFE_INTEGER);
  }
  return problems;
}

function retryProblems(retry: RetryPolicy, place: string): Problem[] {
  const legal =
    Number.isSafeInteger(retry.maxAttempts) &&
    retry.maxAttempts >= 1 &&
    isMinor(retry.backoffMs) &&
    isMinor(retry.maxBackoffMs) &&
    retry.maxBackoffMs >= retry.backoffMs;
  if (legal) return [];
  return [
    {
      place,
      problem: `the retry policy ${JSON.stringify(retry)} makes no sense`,
      remedy:
        'Use whole numbers: maxAttempts 1 or more, backoffMs 0 or more, maxBackoffMs not below backoffMs',
    },
  ];
}
