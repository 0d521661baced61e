/**
 * Moves the state of a faulted run to another revision, or to another task, before a retry continues from it.
 * The frames are those of `workflows/interpreter/state.ts`; here they are read as far as places need it.
 */
import type { AskedAgain } from '../../contracts/asked-again.ts';
import { pointerTokens } from '../../contracts/json-pointer.ts';
import { canonicalJson } from '../../contracts/canonical-json.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { at as pointerOf, own } from '../../language/definition/problems.ts';
import { conflict } from '../errors.ts';
import { taskKindOf } from '../../language/definition/task-kind.ts';

interface ListFrame {
  index: number;
  data: unknown;
  child?: Frame;
}

interface Frame {
  raw: unknown;
  entered?: true;
  input?: { value: unknown };
  list?: ListFrame;
  loop?: { index: number; list?: ListFrame };
  fork?: { branches: Branch[] };
  map?: { next: number; open: Record<string, { list: ListFrame }> };
  attempts?: { list?: ListFrame; caught?: { list?: ListFrame } };
  body?: Frame;
  child?: { detached?: true; created: boolean };
  chat?: unknown;
  listen?: { list?: ListFrame };
  /** By the extensions of the definition, in their order. */
  extensions?: unknown[];
}

interface Branch {
  frame: Frame;
  done?: unknown;
}

export interface Checkpoint {
  scope: unknown;
  root: Frame;
  asked_again?: AskedAgain[];
}

/** A list that is under way, where the definitions have it. */
interface OpenList {
  list: ListFrame;
  /** Pointers of the list in the new and in the old definition. */
  pointer: string;
  before: string;
  tasks: unknown[];
  tasksBefore: unknown[];
  /** Earlier rounds of a loop, or other items, are taken over beside it. */
  repeats: boolean;
  /** It stands for one branch of a fork, which no other task of the list follows. */
  isBranch?: true;
  /** It belongs to an item of a map, beside which others have run the same tasks. */
  isOfItem: boolean;
  /** Another list is under way in its task. */
  holds?: true;
}

/** Where a retry continues. */
export interface Place {
  list: OpenList;
  index: number;
  frame: Frame;
}

export class Places {
  readonly #lists: OpenList[] = [];
  readonly #functions: { old: unknown; now: unknown };
  readonly #sameExtensions: boolean;
  #isInItem = false;

  /** Moves the state, in place. @throws conflict where the new definition lacks a place of it */
  constructor(checkpoint: Checkpoint, old: unknown, now: unknown) {
    const [use, useNow] = [own(old, 'use'), own(now, 'use')];
    this.#functions = { old: own(use, 'functions'), now: own(useNow, 'functions') };
    this.#sameExtensions = canonicalJson(own(use, 'extensions')) === canonicalJson(own(useNow, 'extensions'));
    const { list } = checkpoint.root;
    if (list) this.#list(list, own(old, 'do'), own(now, 'do'), '/do', '/do', false);
  }

  /** The only task that the run continues with. @throws conflict if there are several */
  get only(): Place {
    const leaves = this.#leaves;
    const [leaf] = leaves;
    if (leaf === undefined || leaves.length > 1)
      throw conflict(
        'several_places',
        `The run continues with ${leaves.length} tasks at the same time: name one of them with "from".`,
      );
    return leaf;
  }

  get #leaves(): Place[] {
    return this.#lists.flatMap((list) => {
      const { child, index } = list.list;
      return child === undefined || list.holds ? [] : [{ list, index, frame: child }];
    });
  }

  /** The task of a list that is under way. @throws conflict if it is in none */
  find(reference: string): Omit<Place, 'frame'> & { frame: Frame | undefined } {
    const segments = pointerTokens(reference);
    const pointer = pointerOf('', ...segments.slice(0, -2));
    const index = Number(segments.at(-2));
    const found = this.#lists.filter(
      (list) => list.pointer === pointer && (!list.isBranch || list.list.index === index),
    );
    const [list] = found;
    if (list === undefined || nameAt(list.tasks, index) !== segments.at(-1))
      throw conflict(
        'place_not_found',
        `The run cannot continue at ${reference}: it is no task of a list that was under way when it failed.`,
      );
    if (found.length > 1)
      throw conflict('several_places', `Several items of a map are under way at ${reference}.`);
    return { list, index, frame: index === list.list.index ? list.list.child : undefined };
  }

  /** The pointer of a place's task in the old definition; null if that has no such task. */
  before({ list, index }: Omit<Place, 'frame'>): string | null {
    const name = nameAt(list.tasks, index) ?? '';
    const first = indexOf(list.tasksBefore, name);
    return first < 0 ? null : pointerOf(list.before, first, name);
  }

  /**
   * Whether the run comes to a task, by its old pointer, again: it is not taken over. It does not come to one
   * that the new definition has earlier or lacks, nor to one that even the old definition lacked.
   */
  comesTo(task: string, from: Omit<Place, 'frame'> | null): boolean {
    const places = from ? [from] : this.#leaves;
    return places.some(({ list, index }) => {
      const { before, tasks, tasksBefore } = list;
      if (list.repeats || !task.startsWith(`${before}/`)) return false;
      const [number = '', name = ''] = pointerTokens(task.slice(before.length));
      const at = Number(number);
      if (nameAt(tasksBefore, at) !== name) return false;
      const first = indexOf(tasksBefore, nameAt(tasks, index) ?? '');
      return first >= 0 && (list.isBranch ? at === first : at >= first && indexOf(tasks, name) >= index);
    });
  }

  /** Where a task of the old definition stands in the new one, as far as the lists under way tell. */
  now(task: string): string {
    const holds = this.#lists.filter(({ before }) => task.startsWith(`${before}/`));
    const list = holds.toSorted((a, b) => b.before.length - a.before.length)[0];
    const [first = '', ...rest] = list ? pointerTokens(task.slice(list.before.length)) : [];
    const name = list ? nameAt(list.tasksBefore, Number(first)) : undefined;
    const index = list ? indexOf(list.tasks, name ?? '') : -1;
    if (!list || index < 0) return task;
    return pointerOf(list.pointer, index, ...rest);
  }

  #list(
    list: ListFrame,
    old: unknown,
    now: unknown,
    before: string,
    pointer: string,
    repeats: boolean,
  ): void {
    const tasksBefore = Array.isArray(old) ? old : [];
    const tasks = Array.isArray(now) ? now : [];
    const name = nameAt(tasksBefore, list.index);
    const index = name === undefined ? tasks.length : indexOf(tasks, name);
    if (name === undefined && list.child) throw moved(pointer, 'its tasks are not known');
    if (index < 0) throw moved(pointerOf(before, list.index, name ?? ''), `${pointer} has no task "${name}"`);
    const indexBefore = list.index;
    list.index = index;
    const open: OpenList = { list, pointer, before, tasks, tasksBefore, repeats, isOfItem: this.#isInItem };
    this.#add(open);
    if (!list.child || name === undefined) return;
    this.#inside(open, list.child, name, indexBefore, index);
  }

  /** A function is one step of the list that calls it. */
  #add(open: OpenList): void {
    if (!open.pointer.startsWith('/use/')) this.#lists.push(open);
  }

  /** The task that a list is at, and the lists in it. */
  #inside(open: OpenList, frame: Frame, name: string, indexBefore: number, index: number): void {
    const { pointer, before, tasks, tasksBefore, repeats } = open;
    const count = this.#lists.length;
    this.#task(
      frame,
      own(tasksBefore[indexBefore], name),
      own(tasks[index], name),
      pointerOf(before, indexBefore, name),
      pointerOf(pointer, index, name),
      repeats,
    );
    if (this.#lists.length > count) open.holds = true;
  }

  #task(frame: Frame, old: unknown, now: unknown, before: string, pointer: string, repeats: boolean): void {
    const [kind, kindNow] = [old, now].map((task) => (isRecord(task) ? taskKindOf(task) : undefined));
    if (kind !== kindNow) throw moved(before, `it is now a task of kind "${kindNow}"`);
    if (kind === 'call' && own(old, 'call') !== own(now, 'call'))
      throw moved(before, `it now calls "${String(own(now, 'call'))}"`);
    if (frame.extensions && !this.#sameExtensions) throw moved(before, 'its extensions have changed');
    // A child run has decisions of its own.
    if (frame.child && !(frame.child.detached && frame.child.created)) delete frame.child;
    // So has the loop of a language model, in the turns that have ended.
    delete frame.chat;
    const inner = (list: ListFrame | undefined, path: string[], again: boolean): void => {
      if (!list) return;
      const [from, to] = [old, now].map((task) => path.reduce<unknown>(own, task));
      this.#list(list, from, to, pointerOf(before, ...path), pointerOf(pointer, ...path), again);
    };
    inner(frame.list, ['do'], repeats);
    // A call that receives messages has the position in its foreach there, too.
    const looped = kind === 'call' ? ['with', 'subscription', 'foreach', 'do'] : ['do'];
    inner(frame.loop?.list, looped, repeats || (frame.loop?.index ?? 0) > 0);
    if (frame.attempts?.caught) inner(frame.attempts.caught.list, ['catch', 'do'], repeats);
    else inner(frame.attempts?.list, ['try'], repeats);
    inner(frame.listen?.list, ['foreach', 'do'], true);
    const isInItem = this.#isInItem;
    this.#isInItem ||= frame.map !== undefined;
    for (const item of Object.values(frame.map?.open ?? {}))
      inner(item.list, ['with', 'do'], repeats || (frame.map?.next ?? 0) > 1);
    this.#isInItem = isInItem;
    if (frame.fork) this.#fork(frame.fork, old, now, before, pointer, repeats);
    if (frame.body) {
      const name = String(own(old, 'call'));
      const place = pointerOf('/use/functions', name);
      const { old: functions, now: functionsNow } = this.#functions;
      this.#task(frame.body, own(functions, name), own(functionsNow, name), place, place, true);
    }
  }

  /** Branches are told by their names. */
  #fork(
    fork: { branches: Branch[] },
    old: unknown,
    now: unknown,
    before: string,
    pointer: string,
    repeats: boolean,
  ): void {
    const [from, to] = [old, now].map((task): unknown[] => {
      const branches = own(own(task, 'fork'), 'branches');
      return Array.isArray(branches) ? branches : [];
    });
    const names = (to ?? []).map((_branch, index) => nameAt(to ?? [], index));
    const namesBefore = (from ?? []).map((_branch, index) => nameAt(from ?? [], index));
    if (names.toSorted().join('\n') !== namesBefore.toSorted().join('\n'))
      throw moved(before, 'it has other branches now');
    const branches = names.flatMap((name, index) => {
      const indexBefore = namesBefore.indexOf(name);
      const branch = fork.branches[indexBefore];
      if (!branch || name === undefined) return [];
      if (!branch.done) {
        const place = pointerOf(pointer, 'fork', 'branches');
        const placeBefore = pointerOf(before, 'fork', 'branches');
        const open: OpenList = {
          list: branchAsList(branch, index),
          pointer: place,
          before: placeBefore,
          tasks: to ?? [],
          tasksBefore: from ?? [],
          repeats,
          isBranch: true,
          isOfItem: this.#isInItem,
        };
        this.#add(open);
        this.#inside(open, branch.frame, name, indexBefore, index);
      }
      return [branch];
    });
    fork.branches = branches;
  }
}

/** A branch as a list whose only task is under way. */
function branchAsList(branch: Branch, index: number): ListFrame {
  return {
    index,
    data: null,
    get child() {
      return branch.frame;
    },
    set child(frame) {
      if (frame) branch.frame = frame;
    },
  };
}

/** Lets the run continue with the task, with a new input or with the one that it had. */
export function continueWith(
  { list: { list }, index, frame }: Omit<Place, 'frame'> & { frame: Frame | undefined },
  input: { value: unknown } | undefined,
  had: unknown,
): void {
  list.index = index;
  if (input) list.child = { raw: input.value };
  else if (frame) list.child = { raw: frame.raw, ...(frame.input && { input: frame.input }), entered: true };
  // The log has the input after `input.from`.
  else list.child = { raw: had, input: { value: had }, entered: true };
}

function nameAt(tasks: readonly unknown[], index: number): string | undefined {
  const item = tasks[index];
  return isRecord(item) ? Object.keys(item)[0] : undefined;
}

function indexOf(tasks: readonly unknown[], name: string): number {
  return tasks.findIndex((item) => isRecord(item) && Object.hasOwn(item, name));
}

function moved(task: string, why: string): ReturnType<typeof conflict> {
  return conflict('place_changed', `The revision cannot continue at ${task}: ${why}.`, { task });
}
