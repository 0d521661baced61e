/** What dashboards and alerts name is in real answers of api and worker, with what has happened. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';

import { ownPort } from '../support/machine.ts';
import { createClient } from '../support/app.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';

const TOKEN = 'a token of at least thirty-two bytes'.replaceAll(' ', '-');
const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

let platform: TestPlatform;
let api: Program;
let worker: Program;
let workerMetrics: string;

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  const address = `127.0.0.1:${await ownPort()}`;
  workerMetrics = `http://${address}/metrics`;
  [api, worker] = await Promise.all([
    startProgram('api', platform, { METRICS_TOKEN: TOKEN }),
    startProgram('worker', platform, { WORKER_METRICS_ADDRESS: address }),
  ]);
});
afterAll(async () => {
  await api?.kill();
  await worker?.kill();
  await platform.close();
});

/** Of api and worker, after at least one request. */
async function scrape(): Promise<string> {
  const client = createClient(api.url);
  const { body } = await client.get('/metrics', { headers: { authorization: `Bearer ${TOKEN}` } });
  return `${body}\n${await (await fetch(workerMetrics)).text()}`;
}

const EXPRESSIONS = [
  ...(JSON.parse(read('docker/grafana/cadenza.json')) as { panels: { targets: { expr: string }[] }[] }).panels
    .flatMap(({ targets }) => targets)
    .map(({ expr }) => expr),
  ...(parse(read('docker/alerts.yml')) as { groups: { rules: { expr: string }[] }[] }).groups
    .flatMap(({ rules }) => rules)
    .map(({ expr }) => expr),
];
const NAMES = new Set(
  EXPRESSIONS.flatMap((expr) => expr.match(/\b(?:cadenza|temporal|nodejs|process)_\w+/g) ?? []),
);

test('runs, their durations and decisions of people are counted for their workflow', async () => {
  const builder = await platform.as('builder');
  const { id, workflow_id: workflow } = await startRun(builder, {
    do: [{ ask: { call: 'human', with: { title: 'Well?', candidates: { users: ['the-builder'] } } } }],
  });
  const { body: list } = await until(
    () => builder.get(`/hitl/tasks?run_id=${id}`),
    ({ body }) => body.length === 1,
  );
  const task = `/hitl/tasks/${list[0].id}`;
  expect((await builder.post(`${task}/claim`)).status).toBe(200);
  expect((await builder.post(`${task}/decision`, { decision: 'approve' })).status).toBe(200);
  await endOf(builder, { id });
  const error = { type: 'https://example.com/refused', status: 400 };
  const faulted = await startRun(builder, { do: [{ refuse: { raise: { error } } }] }, {}, 30);
  expect(faulted['status']).toBe('faulted');
  const text = await until(scrape, (answer) =>
    answer.includes(`{workflow="${faulted['workflow_id']}",change="faulted"} 1`),
  );
  for (const line of [
    `cadenza_workflow_runs_total{workflow="${workflow}",change="started"} 1`,
    `cadenza_workflow_runs_total{workflow="${workflow}",change="completed"} 1`,
    `cadenza_human_task_claim_seconds_bucket{workflow="${workflow}",le="60"} 1`,
    `cadenza_human_task_decide_seconds_bucket{workflow="${workflow}",le="+Inf"} 1`,
    `cadenza_human_task_decide_seconds_count{workflow="${workflow}"} 1`,
  ])
    expect(text.split('\n')).toContain(line);
  expect(text).toMatch(
    new RegExp(`^cadenza_workflow_run_seconds_total\\{workflow="${workflow}"\\} \\d`, 'm'),
  );
});

test('every metric that a dashboard or an alert names is in an answer of api or worker', async () => {
  expect(NAMES.size).toBeGreaterThan(15);
  const missing = (answer: string): string[] =>
    [...NAMES].filter((name) => {
      const family = name.replace(/_(?:bucket|count|sum)$/, '');
      return !answer.includes(`# TYPE ${name} `) && !answer.includes(`# TYPE ${family} `);
    });
  expect(
    missing(await until(scrape, (answer) => missing(answer).length === 0, 30_000).catch(scrape)),
  ).toEqual([]);
});
