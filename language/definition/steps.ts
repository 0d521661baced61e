/** The steps (tasks) of a definition by name, as `context` of `call: human` names them. */
import { isRecord } from '../../contracts/is-record.ts';
import { at, own } from './problems.ts';
import { listPathsOf } from './task-kind.ts';

export interface Step {
  name: string;
  pointer: string;
}

/** How the search for a step ended; `several`: the name does not tell which one. */
export type FoundStep = { found: Step } | { several: readonly Step[] } | null;

export class Steps {
  readonly #byName = new Map<string, Step[]>();
  /** By the pointer of a list and the name in it. */
  readonly #byPlace = new Map<string, Step>();
  readonly #byPointer = new Map<string, Step>();

  constructor(definition: unknown) {
    this.#addList(own(definition, 'do'), '/do');
    const functions = own(own(definition, 'use'), 'functions');
    for (const [name, task] of isRecord(functions) ? Object.entries(functions) : [])
      this.#addInner(task, at('/use/functions', name));
  }

  get names(): Iterable<string> {
    return this.#byName.keys();
  }

  /**
   * The step that a task means: one of the lists around it, the nearest first, else the only one of that
   * name. A JSON pointer names any step.
   */
  find(name: string, from: string): FoundStep {
    for (let place = from; place !== ''; place = place.slice(0, place.lastIndexOf('/'))) {
      const step = this.#byPlace.get(placeOf(place, name));
      if (step) return { found: step };
    }
    const named = this.#byName.get(name) ?? [];
    if (named.length > 1) return { several: named };
    const found = named[0] ?? this.#byPointer.get(name);
    return found ? { found } : null;
  }

  #addList(list: unknown, pointer: string): void {
    if (!Array.isArray(list)) return;
    for (const [index, item] of list.entries()) {
      const [name] = isRecord(item) ? Object.keys(item) : [];
      if (name === undefined) continue;
      const step = { name, pointer: at(pointer, index, name) };
      const named = this.#byName.get(name);
      if (named) named.push(step);
      else this.#byName.set(name, [step]);
      this.#byPlace.set(placeOf(pointer, name), step);
      this.#byPointer.set(step.pointer, step);
      this.#addInner(own(item, name), step.pointer);
    }
  }

  #addInner(task: unknown, pointer: string): void {
    if (!isRecord(task)) return;
    for (const path of listPathsOf(task)) {
      let list: unknown = task;
      for (const key of path) list = own(list, key);
      this.#addList(list, at(pointer, ...path));
    }
  }
}

function placeOf(list: string, name: string): string {
  return `${list} ${name}`;
}
