/**
 * Runs that began under earlier code have to continue under today's: every recorded history is replayed
 * against today's workflow bundle. A history that fails is a broken run of a user; CONTRIBUTING.md says what
 * to do then.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { DefaultLogger, Runtime, Worker, type WorkflowBundle } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
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
    workflowId: name,
    history: historyFromText(readFileSync(join(folder, `${name}.json`), 'utf8')),
  }));
  const results = new Map<string, Error | null>();
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories))
    results.set(workflowId, error ?? null);
  return results;
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
    'cancelled',
    'child',
    'compete',
    'continued',
    'decided',
    'elsewhere',
    'escalated',
    'expired',
    'emit',
    'fork',
    'linked',
    'map',
    'openapi',
    'other-calls',
    'parent',
    'retried',
    'retry',
    'sequence',
    'short',
    'shown',
    'suspended',
    'timeout',
    'try',
  ];
  expect(shapes.filter((shape) => !names.some((name) => name.startsWith(shape)))).toEqual([]);
});

test.each(names)('the history %s replays with the code of today', (name) => {
  expect(today.get(name)).toBeNull();
});

test('every history detects a changed interpreter', () => {
  for (const name of names)
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
