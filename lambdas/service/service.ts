import { refuseProblems } from '../../statemachines/language/problems.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import type { AnyTool } from '../../statemachines/language/tool.ts';
import { bookProblems, type TenantBudgetBook } from '../../statemachines/rules/tenant-budget.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { SagaIndex } from '../ports/saga-index.ts';
import type { Host } from '../runtime/host.ts';
import type { SagaLedger } from '../runtime/saga-ledger.ts';
import type { RawBody } from './body.ts';
import { cancelSaga, eraseSaga, resumeSaga, suggest } from './change.ts';
import { decideOn } from './decision.ts';
import { reviewFor, sagaFor } from './discretion.ts';
import { type ListQuery, listSagas } from './list.ts';
import type { Parts } from './parts.ts';
import type { Principal } from './principal.ts';
import { getSaga, getStanding, type LedgerQuery, ledgerNdjson, ledgerPage } from './read.ts';
import { definitionGraph, listDefinitions, listTools } from './registry.ts';
import { rerunSaga } from './rerun.ts';
import { getReview } from './review.ts';
import { listReviews, type ReviewQuery } from './review-list.ts';
import { startSaga } from './start.ts';
import { verifySaga } from './verify.ts';
import type {
  DefinitionView,
  LedgerPageView,
  ReviewPageView,
  ReviewView,
  SagaPageView,
  SagaView,
  StandingView,
  ToolView,
  VerificationView,
} from './wire.ts';

export interface SagaServiceOptions {
  readonly host: Host;
  readonly ledger: SagaLedger;
  /** What may be started, each name once. */
  readonly sagas: readonly AnySaga[];
  /** The registry's tools. Default: all that the sagas use. */
  readonly tools?: readonly AnyTool[];
  readonly index: SagaIndex;
  /** Budgets of tenants, `*` for those not named. Default: nothing is limited. */
  readonly tenants?: TenantBudgetBook;
  /** What event 1 names as the machine of a saga that starts now. */
  machineOf(saga: AnySaga): string;
}

/**
 * The operations behind the API, the same wherever it is served. Each takes the authenticated caller,
 * acts within that caller's tenant only, and checks its role first.
 *
 * All methods throw `Problem` for what the caller can mend, `LedgerDamaged` where a chain does not
 * hold, and `StoreUnavailable` where the stores did not answer: the same call may be made again.
 */
export class SagaService {
  readonly #parts: Parts;

  constructor(options: SagaServiceOptions) {
    this.#parts = {
      host: options.host,
      ledger: options.ledger,
      sagas: byName(options.sagas),
      tools: options.tools ?? toolsOf(options.sagas),
      index: options.index,
      ...(options.tenants === undefined ? {} : { tenants: checkedBook(options.tenants) }),
      machineOf: (saga) => options.machineOf(saga),
    };
  }

  get clock(): Clock {
    return this.#parts.host.clock;
  }

  get log(): Log {
    return this.#parts.host.log;
  }

  /** Role `starter`. The same key and body again is the same saga, marked `replayed`. */
  async start(
    principal: Principal,
    name: string,
    key: string | undefined,
    body: RawBody,
  ): Promise<SagaView> {
    return sagaFor(principal, await startSaga(this.#parts, principal, name, key, body));
  }

  /**
   * Role `starter` or `operator`. Runs a compensated saga again from its checkpoint, as a saga of its
   * own. The same key again is the same saga, marked `replayed`. Body: `{}`; an empty one counts as it.
   */
  async rerun(
    principal: Principal,
    sagaId: string,
    key: string | undefined,
    body: RawBody,
  ): Promise<SagaView> {
    return sagaFor(principal, await rerunSaga(this.#parts, principal, sagaId, key, body));
  }

  /** Any role; what a provider answered is shown to `reviewer`, `operator` and `auditor`. */
  async get(principal: Principal, sagaId: string): Promise<SagaView> {
    return sagaFor(principal, await getSaga(this.#parts, principal, sagaId));
  }

  /** Any role. Oldest first. */
  list(principal: Principal, query: ListQuery): Promise<SagaPageView> {
    return listSagas(this.#parts, principal, query);
  }

  /** Any role. */
  standing(principal: Principal, sagaId: string): Promise<StandingView> {
    return getStanding(this.#parts, principal, sagaId);
  }

  /** Role `auditor` or `operator`. */
  ledgerPage(principal: Principal, sagaId: string, query: LedgerQuery): Promise<LedgerPageView> {
    return ledgerPage(this.#parts, principal, sagaId, query);
  }

  /** Role `auditor` or `operator`. Lines that verify by themselves. */
  ledgerNdjson(principal: Principal, sagaId: string): Promise<Iterable<string>> {
    return ledgerNdjson(this.#parts, principal, sagaId);
  }

  /** Role `auditor` or `operator`. */
  verification(principal: Principal, sagaId: string): Promise<VerificationView> {
    return verifySaga(this.#parts, principal, sagaId);
  }

  /** Role `starter` or `operator`. Body: `{ reason, everything?: true }`. */
  async cancel(principal: Principal, sagaId: string, body: RawBody): Promise<SagaView> {
    return sagaFor(principal, await cancelSaga(this.#parts, principal, sagaId, body));
  }

  /** Role `operator`. Body: `{ machine?: 'latest', note? }`; an empty one counts as `{}`. */
  resume(principal: Principal, sagaId: string, body: RawBody): Promise<SagaView> {
    return resumeSaga(this.#parts, principal, sagaId, body);
  }

  /** Role `starter`, `reviewer` or `operator`. Body: any I-JSON. */
  async suggest(principal: Principal, sagaId: string, body: RawBody): Promise<SagaView> {
    return sagaFor(principal, await suggest(this.#parts, principal, sagaId, body));
  }

  /** Role `operator`. Body: `{ reason }`. Safe to repeat. */
  erase(principal: Principal, sagaId: string, body: RawBody): Promise<SagaView> {
    return eraseSaga(this.#parts, principal, sagaId, body);
  }

  /** Any role. */
  async listReviews(principal: Principal, query: ReviewQuery): Promise<ReviewPageView> {
    const page = await listReviews(this.#parts, principal, query);
    return { ...page, reviews: page.reviews.map((review) => reviewFor(principal, review)) };
  }

  /** Any role; advice is shown to `reviewer` and `operator`. */
  async getReview(principal: Principal, review: string): Promise<ReviewView> {
    return reviewFor(principal, await getReview(this.#parts, principal, review));
  }

  /** Role `reviewer`. Body: a decision (`requests.ts`). Answers the saga. */
  decide(principal: Principal, review: string, body: RawBody): Promise<SagaView> {
    return decideOn(this.#parts, principal, review, body);
  }

  /** Any role. */
  tools(principal: Principal): Promise<{ tools: ToolView[] }> {
    return listTools(this.#parts, principal);
  }

  /** Any role. */
  definitions(principal: Principal): { definitions: DefinitionView[] } {
    return listDefinitions(this.#parts, principal);
  }

  /** Any role. Mermaid text. */
  graph(principal: Principal, name: string): string {
    return definitionGraph(this.#parts, principal, name);
  }
}

/** @throws DefinitionError */
function checkedBook(book: TenantBudgetBook): TenantBudgetBook {
  refuseProblems('the budgets of tenants', bookProblems(book));
  return book;
}

function byName(sagas: readonly AnySaga[]): ReadonlyMap<string, AnySaga> {
  const found = new Map<string, AnySaga>();
  for (const saga of sagas) {
    if (found.has(saga.name)) {
      throw new TypeError(`two saga definitions are called "${saga.name}": give each name once`);
    }
    found.set(saga.name, saga);
  }
  return found;
}

function toolsOf(sagas: readonly AnySaga[]): readonly AnyTool[] {
  const tools = new Map<string, AnyTool>();
  for (const saga of sagas) for (const step of saga.steps) tools.set(step.tool.name, step.tool);
  return [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
