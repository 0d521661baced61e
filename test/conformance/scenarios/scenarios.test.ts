/**
 * Scenarios of our own, in the style of the specification's conformance kit, for what the kit misses: each
 * file of `features/` is read. All run on one platform, several at once.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sameErrorType } from '../../../contracts/dsl-error.ts';
import { inParallel } from '../../../domain/in-parallel.ts';
import type { Client } from '../../support/app.ts';
import { scoreProblem } from '../../support/docs-section.ts';
import { endOf, startTestPlatform, type RunRecord, type TestPlatform } from '../../support/platform.ts';
import { scenariosOf, type Scenario } from '../open-workflow/gherkin.ts';
import { startScenarioServices, type ScenarioServices } from './services.ts';

const FOLDER = join(import.meta.dirname, 'features');
const AT_ONCE = 8;
/** What the issue of the language asks for. */
const AT_LEAST = 80;

interface Result {
  /** The saved workflow. */
  workflow: RunRecord;
  /** Null if the scenario does not run it. */
  run: RunRecord | null;
  /** Everything that the run has kept, as one text. */
  kept: string;
}

const features = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.feature'))
  .toSorted();
const scenarios = features.map((file): [string, Scenario[]] => [
  file,
  scenariosOf(readFileSync(join(FOLDER, file), 'utf8')),
]);

let platform: TestPlatform;
let services: ScenarioServices;
let client: Client;
const results = new Map<Scenario, Result | Error>();

beforeAll(async () => {
  services = await startScenarioServices();
  platform = await startTestPlatform({ env: { EGRESS_HOST_MAP: services.hostMap } });
  client = await platform.as('builder');
  const all = scenarios.flatMap(([, list]) => list);
  for (const { steps } of all) await prepare(steps);
  await inParallel(all, AT_ONCE, async (scenario) => {
    results.set(
      scenario,
      await execute(scenario).catch((error: unknown) =>
        error instanceof Error ? error : new Error(String(error)),
      ),
    );
  });
});

afterAll(async () => {
  await platform.close();
  await services.close();
});

describe.each(scenarios)('%s', (_file, list) => {
  test.each(list.map((scenario): [string, Scenario] => [scenario.name, scenario]))(
    '%s',
    (_name, scenario) => {
      const result = results.get(scenario);
      if (result === undefined || result instanceof Error) throw result ?? new Error('it did not run');
      const assertions = scenario.steps.filter(({ text }) => !isPreparation(text));
      expect(assertions.length).toBeGreaterThan(0);
      for (const { text, argument } of assertions) check(result, text, argument);
    },
  );
});

test('docs/conformance.md lists the scenarios', async () => {
  const count = scenarios.reduce((sum, [, list]) => sum + list.length, 0);
  expect(count).toBeGreaterThanOrEqual(AT_LEAST);
  const body = [
    '## Our own scenarios',
    '',
    `For what the kit misses there are **${count}** scenarios in its style, in`,
    '`test/conformance/scenarios/features`. Every one passes, or the build fails.',
    '',
    '| feature | scenarios |',
    '|---|---|',
    ...scenarios.map(([file, list]) => `| ${file} | ${list.length} |`),
  ].join('\n');
  expect(await scoreProblem('scenarios', body)).toBeNull();
});

function isPreparation(text: string): boolean {
  return /^(a workflow with definition|the workflow input is|the workflow is|the file |the secret )/.test(
    text,
  );
}

/** Files and secrets are shared by all scenarios, so their names have to differ. */
async function prepare(steps: Scenario['steps']): Promise<void> {
  for (const { text, argument } of steps) {
    const file = /^the file '([^']+)' is/.exec(text)?.[1];
    if (file !== undefined) services.serve(file, JSON.stringify(argument));
    const [, name, value] = /^the secret '([^']+)' is '([^']+)'/.exec(text) ?? [];
    if (name !== undefined) {
      const { status } = await client.put(`/secrets/${name}`, { value });
      expect([200, 201]).toContain(status);
    }
  }
}

async function execute({ name, steps }: Scenario): Promise<Result> {
  const argument = (pattern: RegExp): unknown => steps.find(({ text }) => pattern.test(text))?.argument;
  const created = await client.post('/workflows', {
    name,
    definition: argument(/^a workflow with definition/),
  });
  if (!steps.some(({ text }) => text === 'the workflow is executed'))
    return { workflow: created.body, run: null, kept: '' };
  expect(created.body.problems.filter((problem: RunRecord) => problem['severity'] !== 'warning')).toEqual([]);
  const started = await client.post(
    `/workflows/${created.body.id}/run`,
    { input_params: argument(/^the workflow input is/) ?? {} },
    { headers: { prefer: 'wait=30' } },
  );
  expect(started.status).toBe(201);
  const run = await endOf(client, started.body);
  const { body: logs } = await client.get(`/runs/${run['id']}/logs?limit=200`);
  return { workflow: created.body, run, kept: JSON.stringify([run, logs]) };
}

/** Throws for an unknown step, so that nothing passes unchecked. */
function check({ workflow, run, kept }: Result, text: string, argument: unknown): void {
  const refused = /^the definition should be refused with '([^']+)' at '([^']*)'$/.exec(text);
  if (refused) {
    const [, code, pointer] = refused;
    const problems = workflow['problems'].map((problem: RunRecord) => [problem['code'], problem['pointer']]);
    expect(problems).toContainEqual([code, pointer]);
    expect(workflow['runnable']).toBe(false);
    return;
  }
  if (run === null) throw new Error(`the workflow is not executed: ${text}`);
  const { status, output, error } = run;
  const visited = run['tasks'].map((task: RunRecord) => task['name']);
  const task = /^(\w+) should( not)? run(?: (first|last|after (\w+)))?$/.exec(text);
  const property = /^the workflow output should have a '([^']+)' property with value/.exec(text);
  const hidden = /^'([^']+)' should not be kept$/.exec(text)?.[1];
  if (text.startsWith('the workflow should complete with output'))
    expect({ status, output, error }).toEqual({ status: 'completed', output: argument, error: null });
  else if (text === 'the workflow should complete')
    expect({ status, error }).toEqual({ status: 'completed', error: null });
  else if (text.startsWith('the workflow should fault with error')) expectError(run, argument as RunRecord);
  else if (property) expect(output).toHaveProperty((property[1] ?? '').split('.'), argument);
  else if (hidden !== undefined) expect(kept).not.toContain(hidden);
  else if (task) {
    const [, name, not, where, after] = task;
    if (not !== undefined) expect(visited).not.toContain(name);
    else if (where === 'first') expect(visited[0]).toBe(name);
    else if (where === 'last') expect(visited.at(-1)).toBe(name);
    else if (after === undefined) expect(visited).toContain(name);
    else expect(visited.indexOf(name)).toBeGreaterThan(visited.indexOf(after));
  } else throw new Error(`unknown step: ${text}`);
}

/** Standard error types by their name, over the hosts and paths in use. */
function expectError(run: RunRecord, { type, ...rest }: RunRecord): void {
  expect(run).toMatchObject({ status: 'faulted', error: rest });
  if (type !== undefined) expect(sameErrorType(run['error'].type, type)).toBe(true);
}
