import type { AnySaga } from '../statemachines/language/saga.ts';
import type { SagaState } from '../statemachines/rules/state.ts';

/** The definition a saga is pinned to, and whether it can still be run. */
export interface Pinned {
  readonly saga: AnySaga | undefined;
  readonly runs: boolean;
}

/** Which code there is: what runs, what is current of it, and what ever was. */
export class Deployed {
  /** Definitions by the digest that names their machine; the latest of each name is current. */
  readonly #machines = new Map<string, AnySaga>();
  readonly #current = new Map<string, AnySaga>();
  readonly #archive = new Map<string, AnySaga>();

  /** Retained: older code stays beside the new one. Else it is gone. */
  add(sagas: readonly AnySaga[], { retained }: { readonly retained: boolean }): void {
    if (!retained) for (const saga of sagas) this.#forget(saga.name);
    for (const saga of sagas) {
      this.#current.set(saga.name, saga);
      this.#machines.set(machineOf(saga), saga);
      this.#archive.set(machineOf(saga), saga);
    }
  }

  #forget(name: string): void {
    for (const [machine, saga] of this.#machines) {
      if (saga.name === name) this.#machines.delete(machine);
    }
  }

  get current(): ReadonlyMap<string, AnySaga> {
    return this.#current;
  }

  isCurrent(saga: AnySaga): boolean {
    return this.#current.get(saga.name) === saga;
  }

  /** What runs under a machine's name; where older code is gone, that leads to the present one. */
  running(machine: string): AnySaga | undefined {
    const name = machine.slice(0, machine.lastIndexOf('@'));
    return this.#machines.get(machine) ?? this.#current.get(name);
  }

  pinned({ start: { name }, planDigest }: SagaState): Pinned {
    const machine = `${name}@${planDigest}`;
    return { saga: this.#archive.get(machine), runs: this.#machines.has(machine) };
  }
}

export function machineOf(saga: AnySaga): string {
  return `${saga.name}@${saga.plan.digest}`;
}
