/** The page's fold against the table by which the server writes the rows of a run's tasks. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import type { NewRunEvent } from '../../../contracts/run-events.ts';
import { columnsOf } from '../../../domain/runs/event-columns.ts';
import { foldRun } from '../../../web/src/screens/run/fold-run.ts';

const folder = join(import.meta.dirname, '../../replay/histories');

/** The events of tasks that a recorded run wrote to its log, in their order. */
function recordedEvents(name: string): NewRunEvent[] {
  const { events } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const written = events.flatMap((event: any): NewRunEvent[] => {
    const payload = event.activityTaskScheduledEventAttributes?.input?.payloads?.[0];
    if (payload === undefined) return [];
    return JSON.parse(Buffer.from(payload.data, 'base64').toString())?.batch?.events ?? [];
  });
  const byKey = new Map<string, NewRunEvent>(written.map((event: NewRunEvent) => [event.key, event]));
  return [...byKey.values()].filter(({ task }) => task !== null);
}

/** What the server writes: a row for each visit, with the status of its last event that has one. */
function writtenTasks(events: readonly NewRunEvent[]): Record<string, unknown> {
  const tasks: Record<string, { name: unknown; type: unknown; attempt: unknown; status: unknown }> = {};
  for (const event of events) {
    const { task_status: status, starts, visit } = columnsOf(event);
    if (status === undefined) continue;
    const key = `${event.task}#${String(visit)}`;
    const { name, type, attempt = 1 } = event.data;
    if (starts) tasks[key] = { name, type, attempt, status };
    else if (tasks[key] !== undefined) tasks[key].status = status;
  }
  return tasks;
}

test('the fold of every recorded run equals the tasks that the server writes', () => {
  const seen = new Set<unknown>();
  for (const name of readdirSync(folder)) {
    const events = recordedEvents(name);
    const { steps } = foldRun(events.map((event, index) => ({ ...event, seq: index + 1 })));
    const folded = steps.map(({ key, name: title, type, attempt, status }) => {
      seen.add(type).add(status);
      return [key, { name: title, type, attempt, status }];
    });
    expect([name, Object.fromEntries(folded)]).toEqual([name, writtenTasks(events)]);
  }
  expect([...seen]).toEqual(
    expect.arrayContaining(['completed', 'faulted', 'running', 'fork', 'try', 'for', 'human', 'agent']),
  );
});
