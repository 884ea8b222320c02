import type { LedgerId, LedgerRecord } from '../../lambdas/ports/ledger-store.ts';
import type { StreamRecord } from '../../lambdas/outbox/stream.ts';
import { genesisHash, sealEvent } from '../../statemachines/ledger/chain.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { Rules, TIMEOUT_MS } from '../support/saga-builder.ts';

/** What becomes of a saga, by the rules themselves: every state is met in one of these. */
export const STORIES = {
  completed: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }]).done('a', 'b');
    saga.does(saga.complete());
    return saga;
  },
  undone: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }]).done('a').refused('b');
    saga.does(saga.assess());
    saga.undone('a');
    saga.does(saga.settle());
    return saga;
  },
  cancelled: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }]).done('a');
    saga.does({ kind: 'cancel', reason: 'a customer called' });
    saga.does(saga.assess());
    saga.undone('a');
    saga.does(saga.settle());
    return saga;
  },
  expired: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }], { deadlineMs: 10_000 }).done('a');
    saga.wait(20_000);
    saga.does(saga.assess());
    saga.does(saga.assess());
    saga.undone('a');
    saga.does(saga.settle());
    return saga;
  },
  'undo failed': () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b' }]).done('a').refused('b');
    saga.does(saga.assess());
    saga.does(saga.claim('a', 'compensate'));
    saga.does(saga.fail('a', 'terminal_compensate', 'compensate'));
    saga.does(saga.settle());
    return saga;
  },
  reviewed: () => {
    const saga = new Rules([{ name: 'a' }, { name: 'b', dedupe: 'none' }]).done('a');
    saga.does(saga.claim('b'));
    saga.wait(TIMEOUT_MS);
    saga.does(saga.doubt('b'));
    saga.wait(60_000);
    saga.does(saga.assess());
    saga.does(saga.decision({ kind: 'recover' } as never));
    return saga;
  },
  'failed behind the pivot': () => {
    const saga = new Rules([{ name: 'a' }, { name: 'p', effect: 'irreversible' }]).done('a');
    saga.does(saga.claim('p'));
    return saga;
  },
} satisfies Record<string, () => Rules>;
