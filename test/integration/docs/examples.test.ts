/**
 * Every example of JSON or YAML in the documents goes where a reader would send it: agents are registered,
 * definitions saved, prices kept, sets planned, and the script that resets a password resets one.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { parse } from 'yaml';
import { AGENT_KINDS } from '../../../contracts/agent-kinds/index.ts';
import { placeholderNames } from '../../../contracts/placeholders.ts';
import { announceProcessPolicy } from '../../../domain/operations/process-policy.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';

const root = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

type Json = Record<string, unknown>;
interface Example {
  /** `docs/agents.md: Register a language model`. */
  title: string;
  json: Json;
}

const examples = ['README.md', ...globSync('docs/*.md', { cwd: root })].toSorted().flatMap(examplesOf);

function examplesOf(file: string): Example[] {
  return read(file)
    .split(/^#+ /m)
    .flatMap((section) =>
      [...section.matchAll(/^```(json|jsonc|yaml)\n([\s\S]*?)^```/gm)].map(([, format, text = '']) => ({
        title: `${file}: ${section.split('\n', 1)[0]}`,
        // JSON with comments would not reach the API.
        json: (format === 'yaml' ? parse(text) : JSON.parse(text)) as Json,
      })),
    );
}

const isAgent = ({ json }: Example): boolean => 'visibility' in json && 'type' in json;
const isDefinition = ({ json }: Example): boolean => 'do' in json;
const isConfiguration = ({ json }: Example): boolean => 'endpoint' in json || 'price' in json;
const isAgentField = ({ json }: Example): boolean => 'limits' in json || 'budget' in json;
const isPrice = ({ json }: Example): boolean => 'input_per_million_usd' in json;
/** The answer to a request for usage. */
const isUsage = ({ json }: Example): boolean => Array.isArray(json);
/** `cadenza.yaml`, which test/e2e/cli applies. */
const isFolder = ({ json }: Example): boolean => 'set' in json && 'workflows' in json;
const isProblem = ({ json }: Example): boolean => 'status' in json && 'code' in json;
const isEvaluation = ({ json }: Example): boolean => 'cases' in json;
const isSet = ({ json }: Example): boolean => 'resources' in json;
const isNotificationSettings = ({ json }: Example): boolean => 'quiet_hours' in json;
/** Who may start a workflow. */
const isRunners = ({ json }: Example): boolean => 'runners' in json;
/** A task without its name. */
const isBareTask = ({ json }: Example): boolean => 'try' in json;
const kinds = [
  isAgent,
  isDefinition,
  isConfiguration,
  isAgentField,
  isPrice,
  isUsage,
  isFolder,
  isBareTask,
  isProblem,
  isSet,
  isEvaluation,
  isNotificationSettings,
  isRunners,
];
/** An entry of a `do` list. */
const isTask = (example: Example): boolean =>
  !kinds.some((is) => is(example)) && Object.keys(example.json).length === 1;

let app: TestApp;
let builder: Client;
let elsewhere: TestServer;

beforeAll(async () => {
  elsewhere = await startServer(({ path }, response) => {
    const isSchema = path.startsWith('/schemas/');
    response.writeHead(200).end(isSchema ? '{"type": "object"}' : 'set: { ok: true }');
  });
  app = await startTestApp({ env: { EGRESS_HOST_MAP: `https://git.example.com=${elsewhere.url}` } });
  // As a worker with a container engine does.
  const containers = { images: ['*'], pull: 'ifNotPresent', network: false, ports: [], volumes: [] } as const;
  await announceProcessPolicy(app.orm.em.fork(), {
    scripts: true,
    containers: { ...containers, shell_image: 'alpine', python_image: null },
  });
  builder = await app.as('builder');
});
afterAll(async () => {
  await app.close();
  await elsewhere.close();
});

test('every example is of a kind that is tried here', () => {
  expect(examples.filter((example) => ![...kinds, isTask].some((is) => is(example)))).toEqual([]);
  expect(examples.length).toBeGreaterThan(20);
});

test.each(examples.filter(isNotificationSettings))('settings: $title', async ({ json }) => {
  const stored = await builder.put('/notifications/settings', json);
  expect(stored).toMatchObject({ status: 200, body: json });
});

test.each(examples.filter(isRunners))('runners: $title', async ({ json }) => {
  for (const username of (json['runners'] as { users: string[] }).users)
    await app.createUser({ username, roles: ['viewer'] });
  const definition = { do: [{ wait: { wait: { seconds: 1 } } }] };
  const made = await builder.post('/workflows', { name: 'for runners', definition, ...json });
  expect([made.status, made.body.errors]).toEqual([201, undefined]);
});

/** Examples share names, of which records warn. */
const ownName = (): { name: string } => ({ name: `agent-${uuidv7()}` });

describe('agents', () => {
  test('each kind that can be invoked has a complete body', () => {
    const shown = examples.filter(isAgent).map(({ json }) => String(json['execution_type'] ?? json['type']));
    expect([...new Set(shown)].toSorted()).toEqual(Object.keys(AGENT_KINDS).toSorted());
    const rows = [...read('docs/agents.md').matchAll(/^\| `(\w+)` +\| \[/gm)].map(([, kind]) => kind);
    expect(rows.toSorted()).toEqual(Object.keys(AGENT_KINDS).toSorted());
  });

  test.each(examples.filter(isAgent))('$title', async ({ json }) => {
    for (const name of placeholderNames(json))
      expect((await builder.put(`/secrets/${name}`, { value: 'a long value' })).status).toBeLessThan(300);
    const configuration = json['configuration'] as Json;
    if ('workflow_id' in configuration) configuration['workflow_id'] = await createWorkflow();
    for (const { agent, workflow } of (configuration['tools'] ?? []) as Record<string, string>[]) {
      if (agent !== undefined) await builder.post('/agents', agentBody({ name: agent }));
      if (workflow !== undefined) await createWorkflow(workflow);
    }
    const answer = await builder.post('/agents', { ...json, ...ownName() });
    expect([answer.status, answer.body.errors, answer.body.warnings]).toEqual([201, undefined, []]);
  });

  test.each(examples.filter(isConfiguration))('configuration: $title', async ({ json }) => {
    const configuration = { endpoint: 'https://agents.example.com', ...json };
    const answer = await builder.post('/agents', agentBody({ configuration, ...ownName() }));
    expect([answer.status, answer.body.warnings]).toEqual([201, []]);
  });

  test.each(examples.filter(isAgentField))('field: $title', async ({ json }) => {
    const configuration = { endpoint: 'https://agents.example.com' };
    const answer = await builder.post('/agents', agentBody({ configuration, ...ownName(), ...json }));
    expect(answer).toMatchObject({ status: 201, body: { ...json, warnings: [] } });
  });

  async function createWorkflow(name = 'one step'): Promise<string> {
    const definition = { do: [{ wait: { wait: { seconds: 1 } } }] };
    return (await builder.post('/workflows', { name, definition })).body.id;
  }
});

describe('definitions', () => {
  let author: Client;

  beforeAll(async () => {
    author = await app.as(await app.createUser({ username: 'author', roles: ['builder'] }));
    await author.put('/secrets/CATALOG_TOKEN', { value: 'a long value' });
    const agents = ['summariser', 'web-search', 'archive-search', 'slow-agent', 'reader', 'writer'];
    for (const name of [...agents, 'hotel', 'flight', 'cancel-hotel'])
      await author.post(
        '/agents',
        agentBody({ name, configuration: { endpoint: 'https://agents.example.com' } }),
      );
    const document = { dsl: '1.0.3', namespace: 'examples', name: 'translate-one', version: '1.0.0' };
    const definition = { document, do: [{ wait: { wait: { seconds: 1 } } }] };
    await author.post('/workflows', { name: 'translate-one', definition });
  });

  test.each([
    ...examples.filter(isDefinition),
    ...examples.filter(isTask).map(({ title, json }) => ({ title, json: { do: [json] } })),
    ...examples.filter(isBareTask).map(({ title, json }) => ({ title, json: { do: [{ example: json }] } })),
  ])('$title', async ({ json }) => {
    // Saved, because what only checks a definition sends no secrets.
    const { body } = await author.post('/workflows', { definition: json, name: 'example' });
    const problems = body.problems.filter(({ code }: { code: string }) => !EXPECTED.includes(code));
    expect([body.valid, body.runnable, problems]).toEqual([true, true, []]);
  });
});

/** Examples may end with a decision, and name people who are not there. */
const EXPECTED = ['decision_unread', 'unknown_user', 'empty_group', 'unknown_team'];

test.each(examples.filter(isProblem))('$title', async ({ json }) => {
  const { body } = await builder.get('/agents/nowhere');
  expect(Object.keys(json).toSorted()).toEqual(Object.keys(body).toSorted());
});

test.each(examples.filter(isPrice))('price: $title', async ({ json }) => {
  const { status, body } = await (await app.as('admin')).post('/prices', json);
  const { valid_from: validFrom, ...rest } = json;
  expect([status, body]).toEqual([201, expect.objectContaining(rest)]);
  expect(Date.parse(body.valid_from)).toBe(Date.parse(String(validFrom)));
});

test.each(examples.filter(isUsage))('usage: $title', ({ json }) => {
  const { components } = JSON.parse(read('docs/openapi.json')) as {
    components: { schemas: { Usage: { properties: Json } } };
  };
  const keys = Object.keys(components.schemas.Usage.properties).toSorted();
  expect((json as unknown as Json[]).map((row) => Object.keys(row).toSorted())).toEqual([keys]);
});

test.each(examples.filter(isSet))('set: $title', async ({ json }) => {
  for (const name of placeholderNames(json))
    await builder.put(`/secrets/${name}`, { value: `whsec_${Buffer.alloc(32).toString('base64')}` });
  const { status, body } = await builder.post('/apply', json);
  expect([status, body.problems]).toEqual([200, undefined]);
  expect(body.plan).toHaveLength((json['resources'] as unknown[]).length);
});

test.each(examples.filter(isEvaluation))('evaluation: $title', async ({ json }) => {
  await builder.post('/agents', agentBody({ name: 'critic' }));
  const { body: agent } = await builder.post('/agents', agentBody({ name: 'evaluated', version: '1.0.0' }));
  expect((await builder.post(`/agents/${agent.id}/versions/1.0.0/publish`)).status).toBe(200);
  const next = { version: '1.1.0', configuration: { endpoint: 'https://example.com/next' } };
  expect((await builder.patch(`/agents/${agent.id}`, next)).status).toBe(200);
  expect(await builder.post(`/agents/${agent.id}/evaluate`, json)).toMatchObject({ status: 201 });
});
