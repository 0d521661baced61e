/**
 * Runs that began under earlier code must go on under today's: every recorded history is replayed against today's workflow
 * bundle. A history that no longer replays is a broken run of somebody; CONTRIBUTING.md says what to do then.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { bundleOncePerRun } from '../support/platform.ts';
import { bundleBroken } from './broken/bundle.ts';
import { historyFromText } from './history-file.ts';

const folder = join(import.meta.dirname, 'histories');
const names = readdirSync(folder).filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length)).toSorted();

/** By name of the history: what replaying it gave, null if it went well. */
async function replay(workflowBundle: WorkflowBundle): Promise<Map<string, Error | null>> {
  const histories = names.map((name) => ({ workflowId: name, history: historyFromText(readFileSync(join(folder, `${name}.json`), 'utf8')) }));
  const results = new Map<string, Error | null>();
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) results.set(workflowId, error ?? null);
  return results;
}

// What the broken bundle causes is what the test wants, not something to read.
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'off', forward: {} } } });

let today: Map<string, Error | null>;
let broken: Map<string, Error | null>;
beforeAll(async () => {
  today = await replay(await bundleOncePerRun());
  broken = await replay(await bundleBroken());
}, 120_000);

test('there is a history of every shape', () => {
  const shapes = ['cancelled', 'child', 'compete', 'continued', 'decided', 'elsewhere', 'escalated', 'expired', 'fork', 'openapi', 'parent', 'retried', 'retry', 'sequence', 'suspended', 'timeout', 'try'];
  expect(shapes.filter((shape) => !names.some((name) => name.startsWith(shape)))).toEqual([]);
});

test.each(names)('%s', (name) => {
  expect(today.get(name)).toBeNull();
});

test('a changed interpreter is refused, for every history', () => {
  for (const name of names) expect([name, broken.get(name)]).toEqual([name, expect.any(DeterminismViolationError)]);
});

test('no history holds paths or names of the machine it was recorded on, and all are small', () => {
  for (const name of names) {
    const text = readFileSync(join(folder, `${name}.json`), 'utf8');
    expect([name, text.length < 150_000, /file:\/\/|node_modules|"identity": ?"(?!worker")|"stackTrace": ?"[^"]|\d@[\w.-]/.exec(text)]).toEqual([name, true, null]);
  }
});
