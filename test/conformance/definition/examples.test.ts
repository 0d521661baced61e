import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { validateDefinition } from '../../../contracts/definition/validate.ts';
import { conformancePath } from '../../support/conformance.ts';

/** Examples of the specification that need what is not built yet, by the feature that they need. */
const NEEDS: Record<string, string[]> = {
  unsupported_listen: ['accumulate-room-readings', 'for', 'listen-to-*'],
  unsupported_call_asyncapi: ['call-asyncapi-*'],
  unsupported_call_url: ['call-custom-function-cataloged'],
  unsupported_call_grpc: ['call-grpc'],
  unsupported_call_mcp: ['call-mcp'],
  unsupported_extensions: ['mock-service-extension'],
  unsupported_run_container: ['run-container*', 'run-return-*'],
  unsupported_run_script: ['run-script-*'],
  unsupported_run_shell: ['run-shell-*'],
  unsupported_schedule: ['schedule-*', 'set', 'set-expression'],
};

function needs(name: string): string[] {
  return Object.entries(NEEDS)
    .filter(([, patterns]) => patterns.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern)))
    .map(([code]) => code)
    .toSorted();
}

const folder = conformancePath('open-workflow/examples');
const examples = readdirSync(folder).filter((file) => file.endsWith('.yaml'));

test('there are the examples of the specification', () => {
  expect(examples.length).toBeGreaterThan(60);
});

test.each(examples)('%s is valid, and what it needs is named', (file) => {
  const definition: unknown = parse(readFileSync(`${folder}/${file}`, 'utf8'));
  const result = validateDefinition(definition);
  expect(result.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(result.valid).toBe(true);
  const missing = new Set(result.problems.filter(({ severity }) => severity === 'unsupported').map(({ code }) => code));
  expect([...missing].toSorted()).toEqual(needs(file.replace('.yaml', '')));
  expect(result.runnable).toBe(missing.size === 0);
  expect(result.definition).toEqual(definition);
});

const features = conformancePath('open-workflow/ctk/features');

/** The YAML after "Given a workflow with definition:" of each scenario. */
function scenarios(): [string, unknown][] {
  return readdirSync(features).flatMap((file) => {
    const text = readFileSync(`${features}/${file}`, 'utf8');
    const found = text.matchAll(/Scenario:\s*(.+?)\s*\n\s*Given a workflow with definition:\s*\n\s*"""yaml\n([\s\S]*?)\n\s*"""/g);
    return [...found].map(([, title = '', source = '']): [string, unknown] => [`${file}: ${title}`, parse(source)]);
  });
}

test.each(scenarios())('conformance kit: %s is valid', (_title, definition) => {
  const result = validateDefinition(definition);
  expect(result.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(result.problems.filter(({ severity }) => severity === 'warning')).toEqual([]);
  expect(result.problems).toEqual([]);
  expect(result.runnable).toBe(true);
});

test('all scenarios of the kit were found', () => {
  expect(scenarios()).toHaveLength(21);
});
