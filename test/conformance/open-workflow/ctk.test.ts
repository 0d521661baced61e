/**
 * The Open Workflow Specification's conformance test kit, each scenario through the HTTP API. The feature
 * files are used unchanged.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sameErrorType } from '../../../contracts/dsl-error.ts';
import type { Client } from '../../support/app.ts';
import { withConformanceData } from '../../support/outside.ts';
import { scoreProblem } from '../../support/docs-section.ts';
import { endOf, startTestPlatform, type RunRecord, type TestPlatform } from '../../support/platform.ts';
import { scenariosOf, type Scenario } from './gherkin.ts';
import { startStubServices, type StubServices } from './stub-services.ts';

let platform: TestPlatform;
let stub: StubServices;
let client: Client;

withConformanceData('the conformance kit', ['open-workflow/ctk/features'], (folder) => {
  beforeAll(async () => {
    stub = await startStubServices();
    platform = await startTestPlatform({ env: { EGRESS_HOST_MAP: stub.hostMap } });
    client = await platform.as('builder');
  });
  afterAll(async () => {
    await platform.close();
    await stub.close();
  });

  const features = readdirSync(folder).filter((file) => file.endsWith('.feature'));

  test('the conformance kit is complete', () => {
    const scenarios = features.flatMap((file) => scenariosOf(readFileSync(`${folder}/${file}`, 'utf8')));
    expect([features.length, scenarios.length]).toEqual([11, 21]);
  });

  const passed: string[] = [];
  let ran = 0;

  describe.each(features)('the feature %s', (file) => {
    test.each(
      scenariosOf(readFileSync(`${folder}/${file}`, 'utf8')).map((scenario): [string, Scenario] => [
        scenario.name,
        scenario,
      ]),
    )('%s', async (name, scenario) => {
      ran++;
      const run = await execute(scenario);
      const assertions = scenario.steps.filter(
        ({ text }) =>
          !/^(a workflow with definition|the workflow input is|the workflow is executed)/.test(text),
      );
      expect(assertions.length).toBeGreaterThan(0);
      for (const { text, argument } of assertions) check(run, text, argument);
      passed.push(`${file}: ${name}`);
    });
  });

  test('docs/conformance.md has the current score', async () => {
    const all = features.map((feature) => ({
      feature,
      names: scenariosOf(readFileSync(`${folder}/${feature}`, 'utf8')).map(
        ({ name }) => `${feature}: ${name}`,
      ),
    }));
    const total = all.flatMap(({ names }) => names);
    // A run of only some scenarios gives no score.
    if (ran < total.length) return;
    const failed = total.filter((name) => !passed.includes(name));
    const body = [
      '## Open Workflow Specification',
      '',
      `The specification's conformance kit (DSL 1.0.3), each scenario through the HTTP API: ` +
        `**${total.length - failed.length} of ${total.length}** pass.`,
      '',
      '| feature | scenarios | passed |',
      '|---|---|---|',
      ...all.map(
        ({ feature, names }) =>
          `| ${feature} | ${names.length} | ${names.filter((name) => passed.includes(name)).length} |`,
      ),
      ...(failed.length > 0 ? ['', '### Failing', '', ...failed.map((name) => `- ${name}`)] : []),
    ].join('\n');
    expect(await scoreProblem('open-workflow', body)).toBeNull();
  });
});

async function execute({ steps }: Scenario): Promise<RunRecord> {
  const argument = (pattern: RegExp): unknown => steps.find(({ text }) => pattern.test(text))?.argument;
  const created = await client.post('/workflows', {
    name: 'ctk',
    definition: argument(/^a workflow with definition/),
  });
  expect(created.body.problems).toEqual([]);
  const run = await client.post(
    `/workflows/${created.body.id}/run`,
    { input_params: argument(/^the workflow input is/) ?? {} },
    { headers: { prefer: 'wait=30' } },
  );
  expect(run.status).toBe(201);
  return endOf(client, run.body);
}

/** Throws for an unknown step, so that nothing passes unchecked. */
function check(run: RunRecord, text: string, argument: unknown): void {
  const { status, output, error } = run;
  const started = run['tasks'].map((task: RunRecord) => task['name']);
  const ordered = /^(\w+) should run (first|last|after (\w+))$/.exec(text);
  const property =
    /^the workflow output should have a '([^']+)' property (with value|containing (\d+) items)/.exec(text);
  if (text.startsWith('the workflow should complete with output'))
    expect({ status, output }).toEqual({ status: 'completed', output: argument });
  else if (text === 'the workflow should complete')
    expect({ status, error }).toEqual({ status: 'completed', error: null });
  else if (text === 'the workflow should fault') expect(status).toBe('faulted');
  else if (text.startsWith('the workflow should fault with error')) expectError(run, argument as RunRecord);
  else if (text.startsWith('the workflow output should have properties')) {
    for (const [, path = ''] of text.matchAll(/'([^']+)'/g)) expect(output).toHaveProperty(path.split('.'));
  } else if (property) {
    const [, path = '', , count] = property;
    if (count === undefined) expect(output).toHaveProperty(path.split('.'), argument);
    else expect(at(output, path)).toHaveLength(Number(count));
  } else if (ordered) {
    const [, name, where, after] = ordered;
    if (where === 'first') expect(started[0]).toBe(name);
    else if (where === 'last') expect(started.at(-1)).toBe(name);
    else expect(started.indexOf(name)).toBeGreaterThan(started.indexOf(after));
  } else throw new Error(`unknown step: ${text}`);
}

/** Standard error types by their name, over the hosts and paths in use. */
function expectError(run: RunRecord, { type, ...rest }: RunRecord): void {
  expect(run).toMatchObject({ status: 'faulted', error: rest });
  expect(sameErrorType(run['error'].type, type)).toBe(true);
}

function at(value: unknown, path: string): unknown {
  // Any step of the path may be missing.
  return path
    .split('.')
    .reduce<unknown>((current, key) => (current as Record<string, unknown> | undefined)?.[key], value);
}
