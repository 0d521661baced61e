/** What a diagram shows of a definition: lists of tasks, what is inside them, where the flow goes. Never fails. */
import { asObject } from '../bounds.ts';
import { switchCases } from '../kinds/switch.ts';
import { isObject, own } from '../problems.ts';
import { parseFunctionName, taskKindOf } from '../task-kind.ts';

export interface DiagramTask {
  /** Unique in the diagram: `t1`, `t2`, … in document order. */
  id: string;
  name: string;
  kind: string;
  /** One line about what it does; may be empty. */
  detail: string;
  groups: DiagramGroup[];
}

export interface DiagramGroup {
  title: string;
  /** The tasks run side by side. */
  parallel: boolean;
  list: DiagramList;
}

export interface DiagramList {
  tasks: DiagramTask[];
  edges: DiagramEdge[];
}

/** `to` is an index of the list; `end` ends the workflow; `exit` leaves the list. */
export interface DiagramEdge {
  from: number;
  to: number | 'end' | 'exit';
  label: string;
}

/** More would be no picture any more. */
const MAX_DRAWN = 500;
const MAX_LABEL = 60;

export function diagramOf(definition: unknown): DiagramList {
  let drawn = 0;

  const listOf = (list: unknown, parallel: boolean): DiagramList => {
    const entries = (Array.isArray(list) ? list : []).flatMap((item: unknown) => Object.entries(asObject(item)).slice(0, 1));
    const shown = entries.slice(0, Math.max(0, MAX_DRAWN - drawn));
    drawn += shown.length;
    const first = drawn - shown.length;
    const tasks = shown.map(([name, task], index) => taskOf(`t${first + index + 1}`, name, asObject(task)));
    return { tasks, edges: parallel ? [] : edgesOf(shown) };
  };

  const taskOf = (id: string, name: string, task: Record<string, unknown>): DiagramTask => {
    const groups: DiagramGroup[] = [];
    const add = (title: string, list: unknown, parallel = false): void => {
      if (Array.isArray(list) && list.length > 0) groups.push({ title, parallel, list: listOf(list, parallel) });
    };
    const kind = taskKindOf(task) ?? '?';
    if (kind === 'do') add('', task['do']);
    if (kind === 'for') add('each', task['do']);
    if (kind === 'fork') add(own(task['fork'], 'compete') === true ? 'first wins' : 'all', own(task['fork'], 'branches'), true);
    if (kind === 'try') {
      add('try', task['try']);
      add('catch', own(task['catch'], 'do'));
    }
    if (kind === 'listen') add('each', own(task['foreach'], 'do'));
    return { id, name: shorten(name), kind, detail: detailOf(kind, task), groups };
  };

  return listOf(own(definition, 'do'), false);
}

function edgesOf(entries: readonly [string, unknown][]): DiagramEdge[] {
  const names = new Map(entries.map(([name], index) => [name, index]));
  return entries.flatMap(([, value], from) => {
    const task = asObject(value);
    const next = from + 1 < entries.length ? from + 1 : 'exit';
    const edge = (directive: unknown, label: string): DiagramEdge => {
      const named = typeof directive === 'string' ? names.get(directive) : undefined;
      const to = directive === 'end' || directive === 'exit' ? directive : (named ?? next);
      return { from, to, label };
    };
    const kind = taskKindOf(task);
    const skipped = typeof task['if'] === 'string' && task['then'] !== undefined ? [edge('continue', 'skipped')] : [];
    if (kind === 'raise') return skipped;
    if (kind === 'switch') {
      const cases = switchCases(task, '');
      const drawn = cases.map(({ caseName, definition }) => edge(definition['then'], shorten(caseName)));
      return cases.some(({ definition }) => definition['when'] === undefined) ? [...drawn, ...skipped] : [...drawn, edge(task['then'], 'else'), ...skipped];
    }
    const caught = own(task['catch'], 'then');
    return [edge(task['then'], ''), ...(kind === 'try' && caught !== undefined ? [edge(caught, 'caught')] : []), ...skipped];
  });
}

function detailOf(kind: string, task: Record<string, unknown>): string {
  const parameters = task['with'];
  const call = task['call'];
  if (kind === 'call' && typeof call === 'string') {
    const { name } = parseFunctionName(call);
    if (name === 'agent') return shorten(`agent ${text(own(parameters, 'agent'))}`);
    if (name === 'human') return shorten(`human: ${text(own(parameters, 'title'))}`);
    if (name === 'http') {
      const endpoint = own(parameters, 'endpoint');
      return shorten(`${text(own(parameters, 'method')).toUpperCase()} ${text(isObject(endpoint) ? endpoint['uri'] : endpoint)}`);
    }
    return shorten(call);
  }
  if (kind === 'for') return shorten(`in ${text(own(task['for'], 'in'))}`);
  if (kind === 'raise') return shorten(text(isObject(own(task['raise'], 'error')) ? own(own(task['raise'], 'error'), 'title') : own(task['raise'], 'error')));
  if (kind === 'run') return shorten(`workflow ${text(own(own(task['run'], 'workflow'), 'name'))}`);
  if (kind === 'wait') return shorten(durationText(task['wait']));
  return '';
}

function durationText(duration: unknown): string {
  if (typeof duration === 'string') return duration;
  const units = Object.entries(asObject(duration)).filter(([, amount]) => typeof amount === 'number');
  return units.map(([unit, amount]) => `${Number(amount)} ${unit}`).join(' ');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : Array.isArray(value) ? `${value.length} items` : '';
}

function shorten(value: string): string {
  const line = value.slice(0, 500).replaceAll(/[\s\p{C}]+/gu, ' ').trim();
  const characters = [...line];
  return characters.length > MAX_LABEL ? `${characters.slice(0, MAX_LABEL - 1).join('')}…` : line;
}
