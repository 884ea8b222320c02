import type { AnySaga } from '../statemachines/language/saga.ts';
import type { InvocationFault } from './execution.ts';
import type { Mishap, QuestionMishap } from './mishaps.ts';
import { describeOutboxStrike, type OutboxStrike } from './outbox-strikes.ts';
import type { Way } from './person.ts';
import type { StartFault } from './plane-options.ts';
import type { PolicyMishap } from './policies.ts';
import type { Change } from './versions.ts';
import type { StoreFault } from './worker-stores.ts';

/** What somebody outside may ask for while a saga is known. */
export const REQUESTS = [
  'cancel',
  'cancel_everything',
  'resume',
  'resume_latest',
  'abort',
  'repeat_start',
  'start_other_key',
  'start_other_body',
  'suggest',
  'erase',
  'stranger',
] as const;
export type Request = (typeof REQUESTS)[number];

/** A saga that runs the work of another again: saga 3 run again is 1003, and that one run again 2003. */
export const RERUN = 1_000;

/** One thing that goes wrong in a simulated world. A story is told, and shrunk, strike by strike. */
export type Strike =
  | {
      readonly kind: 'provider';
      readonly saga: number;
      readonly step: string;
      readonly action: 'forward' | 'recovery';
      /** Calls `nth` to `nth + times - 1` are struck. */
      readonly nth: number;
      readonly times: number;
      readonly mishap: Mishap;
    }
  | {
      readonly kind: 'question';
      readonly saga: number;
      readonly step: string;
      readonly times: number;
      readonly mishap: QuestionMishap;
    }
  | {
      readonly kind: 'store';
      readonly index: number;
      readonly phase: 'before' | 'after';
      readonly fault: StoreFault;
      readonly delayMs: number;
    }
  | {
      readonly kind: 'call';
      readonly index: number;
      readonly phase: 'before' | 'after';
      readonly fault: 'crash' | 'restart';
    }
  | {
      readonly kind: 'invocation';
      readonly index: number;
      readonly fault: InvocationFault;
      readonly delayMs: number;
    }
  | {
      readonly kind: 'start';
      readonly index: number;
      readonly fault: StartFault;
      readonly delayMs: number;
    }
  | {
      readonly kind: 'outage';
      /** `stores`, `sweep`, or the name of a tool. */
      readonly of: string;
      readonly fromMs: number;
      readonly toMs: number;
    }
  | { readonly kind: Request; readonly saga: number; readonly atMs: number }
  | { readonly kind: 'restart'; readonly atMs: number }
  | {
      readonly kind: 'policy';
      readonly saga: number;
      readonly step: string;
      /** Questions `nth` to `nth + times - 1` are answered so. */
      readonly nth: number;
      readonly times: number;
      readonly mishap: PolicyMishap;
    }
  | {
      readonly kind: 'review';
      readonly saga: number;
      /** The saga's reviews, from 1. */
      readonly nth: number;
      readonly way: Way;
      readonly afterMs: number;
    }
  | {
      readonly kind: 'rerun';
      readonly saga: number;
      readonly key: string;
      /** After the saga was compensated. */
      readonly afterMs: number;
      /** The worker dies at this store call from then on. */
      readonly crash?: { readonly call: number; readonly phase: 'before' | 'after' };
    }
  | {
      /** A Task runs once more, about when the lease of its call ends. */
      readonly kind: 'lease';
      readonly saga: number;
      readonly step: string;
      readonly action: 'forward' | 'recovery';
      readonly attempt: number;
      readonly afterMs: number;
    }
  | {
      readonly kind: 'deploy';
      readonly atMs: number;
      readonly retained: boolean;
      /** `given`: the later versions that the simulation was given. `back`: the first version again. */
      readonly change: Change | 'given' | 'back';
      /** The definition that changes, where it is one. */
      readonly of?: string;
      readonly place?: number;
    }
  | OutboxStrike;

/** One saga that is started in a simulated world. */
export interface Started {
  readonly saga: AnySaga;
  readonly tenant: string;
  readonly key: string;
  readonly atMs: number;
  readonly input: unknown;
}

export interface WorldPlan {
  readonly seed: number;
  readonly started: readonly (Started | undefined)[];
  readonly strikes: readonly Strike[];
  /** The outbox runs beside. */
  readonly outbox?: true;
}

/** A strike in words. */
export function describeStrike(strike: Strike): string {
  switch (strike.kind) {
    case 'provider': {
      const { step, action, nth, times, mishap } = strike;
      const which = times === 1 ? `call ${nth}` : `calls ${nth} to ${nth + times - 1}`;
      const what = action === 'forward' ? step : `the undo of ${step}`;
      return `${sagaName(strike.saga)}: ${which} of ${what}: ${mishap}`;
    }
    case 'question':
      return `${sagaName(strike.saga)}: the first ${strike.times} questions about ${strike.step}: ${strike.mishap}`;
    case 'store':
      return `store call ${strike.index}: ${strike.fault} ${strike.phase} its effect${delayed(strike)}`;
    case 'call':
      return `provider call ${strike.index}: ${strike.fault} of the caller ${strike.phase} it`;
    case 'invocation':
      return `invocation ${strike.index}: ${strike.fault}${delayed(strike)}`;
    case 'start':
      return `start ${strike.index} of an execution: ${strike.fault}${delayed(strike)}`;
    case 'outage':
      return `${strike.of} out from +${strike.fromMs} to +${strike.toMs} ms`;
    case 'restart':
      return `the process restarts at +${strike.atMs} ms`;
    case 'policy': {
      const { saga, step, nth, times, mishap } = strike;
      return `${sagaName(saga)}: the policy of ${step} ${mishap}, ${times} times from question ${nth} on`;
    }
    case 'review':
      return `${sagaName(strike.saga)}: review ${strike.nth} is answered after ${strike.afterMs} ms: ${strike.way}`;
    case 'rerun': {
      const { saga, key, afterMs, crash } = strike;
      const dies =
        crash === undefined
          ? ''
          : `, and a worker dies ${crash.phase} store call ${crash.call} of it`;
      return `${sagaName(saga)}: run again under "${key}" ${afterMs} ms after it was compensated${dies}`;
    }
    case 'lease': {
      const { saga, step, action, attempt, afterMs } = strike;
      const what = action === 'forward' ? step : `the undo of ${step}`;
      return `${sagaName(saga)}: the Task of attempt ${attempt} of ${what} runs once more ${afterMs} ms after its lease`;
    }
    case 'deploy':
      return `${deployed(strike)} at +${strike.atMs} ms, older code is ${strike.retained ? 'retained' : 'gone'}`;
    case 'stream':
    case 'outbox':
    case 'rebuild':
    case 'projection_lost':
      return describeOutboxStrike(strike);
    default:
      return `${sagaName(strike.saga)}: ${strike.kind} at +${strike.atMs} ms`;
  }
}

export function sagaName(index: number): string {
  const again = Math.floor(index / RERUN);
  return `saga ${index % RERUN}${again === 0 ? '' : again === 1 ? ' run again' : ` run again ${again} times`}`;
}

function deployed({ change, of, place }: Extract<Strike, { kind: 'deploy' }>): string {
  switch (change) {
    case 'given':
      return 'new versions are deployed';
    case 'back':
      return `the first version of "${of ?? ''}" is deployed again`;
    default:
      return `a version of "${of ?? ''}" is deployed (${change}, step ${place ?? 0})`;
  }
}

function delayed({ fault, delayMs }: { readonly fault: string; readonly delayMs: number }): string {
  return ['delayed', 'repeated', 'slow'].includes(fault) ? ` by ${delayMs} ms` : '';
}
