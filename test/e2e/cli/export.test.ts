/** What `cadenza export` writes: every field that a set may have, also of a set of a team. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { cliAs, type CliUser } from '../../support/cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'cadenza-export-'));
let app: TestApp;
let builder: Client;
let cli: CliUser;
let admin: CliUser;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
  cli = await cliAs(app, 'builder');
  admin = await cliAs(app, 'admin');
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

const put = (path: string, content: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
};
const read = (path: string): Record<string, unknown> => parse(readFileSync(join(folder, path), 'utf8'));
const actions = ({ json }: { json(): any }): string[] =>
  json().map((item: any) => `${item.name}: ${item.action}`);

const schemas = JSON.parse(readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'))
  .components.schemas;
/** What a file of this kind may say, without its kind, which is that of its folder. */
const fieldsOf = (schema: string): string[] =>
  Object.keys(schemas[schema].properties).filter((name) => name !== 'kind');

const AGENT = `name: scorer
type: api
execution_type: api
version: 1.0.0
visibility: private
status: active
description: Scores
documentation: Read it
license: MIT
repository_url: https://example.com/repository
configuration: { endpoint: "https://example.com/s" }
input_schema: { type: object }
output_schema: { type: object }
modalities: [text]
capabilities: [score]
url: https://example.com/agent
provider_name: Example
provider_url: https://example.com
authentication_type: api_key
authentication_config: { header: X-Key, value: <CALLS> }
capabilities_streaming: true
capabilities_push: true
capabilities_history: true
tags: [money]
limits: { concurrency: 2, rate: { calls: 5, per: minute } }
budget: { max_cost_usd: 5, window: month }
skills: [{ name: score }]
publish: false
`;
const WEBHOOK = `name: told
url: https://example.com/hook
types: [io.cadenza.hitl]
description: Tells
active: false
secret: <SIGNS>
`;

test('every field that a file may have is exported, and the copy changes nothing', async () => {
  const { id: user } = await app.user('builder');
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  await builder.put('/secrets/SIGNS', { value: secret });
  for (const name of ['CALLS', 'FORMER']) await builder.put(`/secrets/${name}`, { value: 'k'.repeat(20) });
  put('all/cadenza.yaml', 'set: all\n');
  put('all/agents/scorer.yaml', AGENT);
  put('all/webhooks/told.yaml', WEBHOOK);
  put(
    'all/hooks/issues.yaml',
    'name: issues\nscheme: stripe\nsecret: CALLS\nformer_secret: FORMER\nsource: urn:calls\n' +
      'event_type: issue\ntolerance_seconds: 60\nactive: false\n',
  );
  put(
    'all/event-sources/till.yaml',
    `source: urn:till\nuser_id: ${user}\nshared_with: []\ndescription: The till\n`,
  );
  const applied = await cli.run(['apply', '-f', join(folder, 'all')]);
  expect([applied.exitCode, applied.stderr]).toEqual([0, '']);
  const exported = await cli.run(['export', join(folder, 'copy'), '--set', 'all']);
  expect([exported.exitCode, exported.stderr]).toEqual([
    0,
    `${join(folder, 'copy/webhooks/told.yaml')} has no signing secret: ` +
      'to create the webhook elsewhere, add secret: <NAME> to it.\n',
  ]);

  const missing = (path: string, schema: string): string[] => {
    const names = Object.keys(read(path));
    return fieldsOf(schema).filter((name) => !names.includes(name));
  };
  expect(missing('copy/agents/scorer.yaml', 'AgentResource')).toEqual([]);
  expect(read('copy/agents/scorer.yaml')).toMatchObject({
    limits: { concurrency: 2, rate: { calls: 5, per: 'minute' } },
    budget: { max_cost_usd: 5, window: 'month' },
  });
  expect(missing('copy/webhooks/told.yaml', 'WebhookResource')).toEqual(['secret']);
  expect(missing('copy/hooks/issues.yaml', 'HookResource')).toEqual([]);
  // Either a user or a client may send it.
  expect(missing('copy/event-sources/urn-till.yaml', 'EventSourceResource')).toEqual(['client_id']);

  const again = await cli.run(['apply', '-f', join(folder, 'copy')]);
  expect([again.exitCode, actions(again)]).toEqual([
    0,
    ['scorer', 'told', 'issues', 'urn:till'].map((name) => `${name}: unchanged`),
  ]);
  const agents = (await builder.get('/agents?name=scorer')).body;
  expect(agents[0].budget).toMatchObject({ max_cost_usd: 5 });
});

test('a set of a team is exported by --team, or by the team that the folder names', async () => {
  const { username } = await app.user('builder');
  expect((await admin.run(['team', 'create', 'ledger', '--admin', username])).exitCode).toBe(0);
  put('team/cadenza.yaml', 'set: books\nteam: ledger\n');
  put('team/workflows/add.yaml', 'do:\n  - a: { set: { b: 1 } }\n');
  expect((await cli.run(['apply', '-f', join(folder, 'team')])).exitCode).toBe(0);
  const copy = join(folder, 'team-copy');
  const [own, other, exported] = [
    await cli.run(['export', copy, '--set', 'books']),
    await cli.run(['export', copy, '--set', 'nothing', '--team', 'ledger']),
    await cli.run(['export', copy, '--set', 'books', '--team', 'ledger']),
  ];
  expect([own.exitCode, own.stderr]).toEqual([1, 'error: You have no set books.\n']);
  expect([other.exitCode, other.stderr]).toEqual([1, 'error: The team ledger has no set nothing.\n']);
  expect([exported.exitCode, read('team-copy/cadenza.yaml')]).toEqual([
    0,
    expect.objectContaining({ set: 'books', team: 'ledger' }),
  ]);
  const again = await cli.run(['diff', '-f', copy]);
  expect([again.exitCode, actions(again)]).toEqual([0, ['add: unchanged']]);
  // The folder names both.
  rmSync(join(copy, 'workflows'), { recursive: true });
  expect((await cli.run(['export', copy, '-o', 'name'])).stdout).toBe(
    `${join(copy, 'workflows/add.yaml')}\n`,
  );
  // So does one that is found by the name of the set.
  put('here/books/cadenza.yaml', 'set: books\nteam: ledger\n');
  const found = await cli.run(['export', '--set', 'books', '-o', 'name'], { cwd: join(folder, 'here') });
  expect([found.exitCode, found.stdout, read('here/books/cadenza.yaml')]).toEqual([
    0,
    'books/workflows/add.yaml\n',
    expect.objectContaining({ set: 'books', team: 'ledger' }),
  ]);
  const nameless = await cli.run(['export', '-o', 'name'], { cwd: join(folder, 'here') });
  expect([nameless.exitCode, nameless.stderr]).toEqual([2, 'error: Name the set: --set NAME.\n']);
});
