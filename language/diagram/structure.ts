/**
 * Extracts a diagram's structure from a definition: lists of tasks, their inner lists and the flow between
 * them. Never throws, even for invalid definitions.
 */
import { isRecord } from '../../contracts/is-record.ts';
import { asObject } from '../definition/bounds.ts';
import { parseFunctionName } from '../definition/call-function.ts';
import type { CallFunction, TaskKind } from '../definition/model.ts';
import { at, own } from '../definition/problems.ts';
import { switchCases } from '../definition/switch-cases.ts';
import { listPathsOf, taskKindOf } from '../definition/task-kind.ts';

export interface DiagramTask {
  /** Unique in the diagram: `t1`, `t2`, … in document order. */
  id: string;
  /** JSON pointer into the definition, as in the run's events. */
  pointer: string;
  name: string;
  kind: string;
  /** One line about what it does; may be empty. */
  detail: string;
  groups: DiagramGroup[];
}

export interface DiagramGroup {
  title: string;
  /** The tasks run in parallel. */
  parallel: boolean;
  list: DiagramList;
}

export interface DiagramList {
  tasks: DiagramTask[];
  edges: DiagramEdge[];
  /** Number of tasks that are not drawn, without those inside them. */
  omitted: number;
}

/** `to` is an index into the list; `end` ends the workflow; `exit` leaves the list. */
export interface DiagramEdge {
  from: number;
  to: number | 'end' | 'exit';
  label: string;
}

/** More tasks would make the diagram unreadable. */
const MAX_DRAWN = 500;
const MAX_LABEL = 60;

export function diagramOf(definition: unknown): DiagramList {
  let drawn = 0;

  const listOf = (list: unknown, pointer: string, parallel: boolean): DiagramList => {
    const entries = entriesOf(list, pointer);
    const shown = entries.slice(0, Math.max(0, MAX_DRAWN - drawn));
    drawn += shown.length;
    const first = drawn - shown.length;
    const tasks = shown.map((entry, index) => taskOf(`t${first + index + 1}`, entry));
    return { tasks, edges: parallel ? [] : edgesOf(shown), omitted: entries.length - shown.length };
  };

  const taskOf = (id: string, { name, pointer, task }: Entry): DiagramTask => {
    const kind = taskKindOf(task);
    if (kind === undefined) return { id, pointer, name: shorten(name), kind: '?', detail: '', groups: [] };
    const lists = DRAWN[kind].lists?.(task) ?? innerLists(task);
    const groups = lists.flatMap(({ title, path, parallel = false }): DiagramGroup[] => {
      const list = path.reduce(own, task as unknown);
      if (!Array.isArray(list) || list.length === 0) return [];
      return [{ title, parallel, list: listOf(list, at(pointer, ...path), parallel) }];
    });
    const detail = shorten(DRAWN[kind].detail?.(task) ?? '');
    return { id, pointer, name: shorten(name), kind, detail, groups };
  };

  return listOf(own(definition, 'do'), '/do', false);
}

interface Entry {
  name: string;
  pointer: string;
  task: Record<string, unknown>;
}

function entriesOf(list: unknown, pointer: string): Entry[] {
  return (Array.isArray(list) ? list : []).flatMap((item: unknown, index) =>
    Object.entries(asObject(item))
      .slice(0, 1)
      .map(([name, task]) => ({ name, pointer: at(pointer, index, name), task: asObject(task) })),
  );
}

function edgesOf(entries: readonly Entry[]): DiagramEdge[] {
  const names = new Map(entries.map(({ name }, index) => [name, index]));
  return entries.flatMap(({ task }, from) => {
    const next = from + 1 < entries.length ? from + 1 : 'exit';
    const edge = (directive: unknown, label: string): DiagramEdge => {
      const named = typeof directive === 'string' ? names.get(directive) : undefined;
      const to = directive === 'end' || directive === 'exit' ? directive : (named ?? next);
      return { from, to, label };
    };
    const kind = taskKindOf(task);
    const skipped =
      typeof task['if'] === 'string' && task['then'] !== undefined ? [edge('continue', 'skipped')] : [];
    if (kind === 'raise') return skipped;
    if (kind === 'switch') {
      const cases = switchCases(task, '');
      const drawn = cases.map(({ caseName, definition }) => edge(definition['then'], shorten(caseName)));
      return cases.some(({ definition }) => definition['when'] === undefined)
        ? [...drawn, ...skipped]
        : [...drawn, edge(task['then'], 'else'), ...skipped];
    }
    const caught = own(task['catch'], 'then');
    return [
      edge(task['then'], ''),
      ...(kind === 'try' && caught !== undefined ? [edge(caught, 'caught')] : []),
      ...skipped,
    ];
  });
}

interface DrawnList {
  title: string;
  path: readonly string[];
  parallel?: boolean;
}

interface Drawn {
  /** One line about what the task does. */
  detail?(task: Record<string, unknown>): string;
  /** The task lists inside it. */
  lists?(task: Record<string, unknown>): DrawnList[];
}

function innerLists(task: Record<string, unknown>): DrawnList[] {
  return listPathsOf(task).map((path) => ({ title: 'each', path }));
}

const DRAWN: Record<TaskKind, Drawn> = {
  call: { detail: callDetail },
  do: { lists: () => [{ title: '', path: ['do'] }] },
  emit: {},
  for: {
    detail: (task) => `in ${text(own(task['for'], 'in'))}`,
    lists: () => [{ title: 'each', path: ['do'] }],
  },
  fork: {
    lists({ fork }) {
      const title = own(fork, 'compete') === true ? 'first wins' : 'all';
      return [{ title, path: ['fork', 'branches'], parallel: true }];
    },
  },
  listen: { lists: () => [{ title: 'each', path: ['foreach', 'do'] }] },
  raise: {
    detail(task) {
      const error = own(task['raise'], 'error');
      return text(isRecord(error) ? own(error, 'title') : error);
    },
  },
  run: {
    detail({ run }) {
      const kind = ['workflow', 'container', 'script', 'shell'].find((key) => own(run, key)) ?? '';
      const part = own(run, kind);
      return `${kind} ${text(own(part, 'name') ?? own(part, 'image') ?? own(part, 'language'))}`;
    },
  },
  set: {},
  switch: {},
  try: {
    lists: () => [
      { title: 'try', path: ['try'] },
      { title: 'catch', path: ['catch', 'do'] },
    ],
  },
  wait: { detail: (task) => durationText(task['wait']) },
};

/** What the picture shows of a call; null: its name. */
const CALL_DETAILS: Readonly<Record<CallFunction, ((parameters: unknown) => string) | null>> = {
  http(parameters) {
    const endpoint = own(parameters, 'endpoint');
    const uri = isRecord(endpoint) ? endpoint['uri'] : endpoint;
    return `${text(own(parameters, 'method')).toUpperCase()} ${text(uri)}`;
  },
  agent: (parameters) => `agent ${text(own(parameters, 'agent'))}`,
  human: (parameters) => `human: ${text(own(parameters, 'title'))}`,
  map: (parameters) => `map: in ${text(own(parameters, 'in'))}`,
  openapi: null,
  grpc: (parameters) => `grpc ${text(own(parameters, 'method'))}`,
  asyncapi: (parameters) => `asyncapi ${text(own(parameters, 'operation') ?? own(parameters, 'channel'))}`,
  a2a: null,
  mcp: (parameters) => `mcp ${text(own(own(parameters, 'parameters'), 'name') ?? own(parameters, 'method'))}`,
};

function callDetail({ call, with: parameters }: Record<string, unknown>): string {
  if (typeof call !== 'string') return '';
  const { name } = parseFunctionName(call);
  const detail = Object.entries(CALL_DETAILS).find(([known]) => known === name)?.[1];
  return detail ? detail(parameters) : call;
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
  const line = value
    .slice(0, 500)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim();
  const characters = [...line];
  return characters.length > MAX_LABEL ? `${characters.slice(0, MAX_LABEL - 1).join('')}…` : line;
}
