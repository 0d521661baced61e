/**
 * Runs that began under earlier code have to continue under today's: every recorded history is replayed
 * against today's workflow bundle. A history that fails is a broken run of a user; CONTRIBUTING.md says what
 * to do then.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { DefaultLogger, Runtime, Worker, type WorkflowBundle } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { scheduledStartId } from '../../contracts/temporal.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { RUNNABLE_FUNCTIONS } from '../../language/definition/call-function.ts';
import { TASK_KINDS } from '../../language/definition/task-kind.ts';
import { bundleOncePerRun } from '../support/platform.ts';
import { bundleBroken } from './broken/bundle.ts';
import { historyFromText } from './history-file.ts';

const folder = join(import.meta.dirname, 'histories');
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length))
  .toSorted();

/** The result of each replay by history; null if it succeeded. */
async function replay(workflowBundle: WorkflowBundle): Promise<Map<string, Error | null>> {
  const histories = names.map((name) => ({
    workflowId: idOf(name),
    history: historyFromText(readFileSync(join(folder, `${name}.json`), 'utf8')),
  }));
  const results = new Map<string, Error | null>();
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories))
    results.set(workflowId.startsWith('scheduled-') ? 'scheduled-start' : workflowId, error ?? null);
  return results;
}

/** A schedule's start is in the id of its execution. */
function idOf(name: string): string {
  return name === 'scheduled-start' ? `${scheduledStartId(randomUUID())}-2026-11-23T05:59:28Z` : name;
}

// The failures that the broken bundle causes are expected, so they are not logged.
Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: 'off', forward: {} } },
});

let today: Map<string, Error | null>;
let broken: Map<string, Error | null>;
beforeAll(async () => {
  today = await replay(await bundleOncePerRun());
  broken = await replay(await bundleBroken());
});

test('every shape of run has a history', () => {
  const shapes = [
    'asked',
    'cancelled',
    'boxed',
    'child',
    'compete',
    'continued',
    'decided',
    'elsewhere',
    'escalated',
    'expired',
    'extended',
    'linked',
    'other-calls',
    'parent',
    'retried',
    'retry',
    'retry-from',
    'scheduled-start',
    'short',
    'shown',
    'suspended',
    'timeout',
    'tools',
  ];
  expect(shapes.filter((shape) => !names.some((name) => name.startsWith(shape)))).toEqual([]);
});

test('every kind of task, every function and every process has a history', () => {
  const used = new Set(names.flatMap((name) => usedIn(definitionOf(name))));
  const kinds = [
    ...TASK_KINDS,
    ...RUNNABLE_FUNCTIONS.map((name) => `call: ${name}`),
    ...['container', 'script', 'shell', 'workflow'].map((process) => `run: ${process}`),
  ];
  expect(kinds.filter((kind) => !used.has(kind))).toEqual([]);
});

/** The definition of a run's first execution; null of another workflow. */
function definitionOf(name: string): unknown {
  const { events } = historyFromText(readFileSync(join(folder, `${name}.json`), 'utf8'));
  const data = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
  if (!data || data.length === 0) return null;
  return (JSON.parse(Buffer.from(data).toString()) as { start?: { definition: unknown } }).start?.definition;
}

/** All keys, and what `call` and `run` name. */
function usedIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]: [string, unknown]) => [
    key,
    ...(typeof item === 'string' ? [`${key}: ${item}`] : []),
    ...(key === 'run' && isRecord(item) ? Object.keys(item).map((process) => `run: ${process}`) : []),
    ...usedIn(item),
  ]);
}

test.each(names)('the history %s replays with the code of today', (name) => {
  expect(today.get(name)).toBeNull();
});

test('every history of a run detects a changed interpreter', () => {
  for (const name of names.filter((history) => !history.startsWith('scheduled-start')))
    expect([name, broken.get(name)]).toEqual([name, expect.any(DeterminismViolationError)]);
});

test('histories are small, and name no path or host of the recording machine', () => {
  for (const name of names) {
    const text = readFileSync(join(folder, `${name}.json`), 'utf8');
    expect([
      name,
      text.length < 150_000,
      /file:\/\/|node_modules|"identity": ?"(?!worker")|"stackTrace": ?"[^"]|\d@[\w.-]/.exec(text),
    ]).toEqual([name, true, null]);
  }
});
