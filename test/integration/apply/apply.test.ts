/** Sets of resources through HTTP: docs/apply.md. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import {
  createClient,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../../support/app.ts';
import { keepStatements } from '../../support/plans.ts';
import { recordStatements } from '../../support/statements.ts';

let app: TestApp;
let ann: TestUser;
let asAnn: Client;

beforeAll(async () => {
  app = await startTestApp({ env: { EGRESS_ALLOW: 'hooks.example.com,scores.example.com' } });
  ann = await app.createUser({ username: 'ann', roles: ['builder'] });
  asAnn = await app.as(ann);
});
afterAll(() => app.close());

type Json = Record<string, unknown>;

const agent = (name: string, more: Json = {}): Json => ({
  kind: 'agent',
  name,
  type: 'api',
  version: '1.0.0',
  visibility: 'private',
  url: 'https://scores.example.com/',
  configuration: { method: 'POST' },
  ...more,
});
const workflow = (name: string, more: Json = {}): Json => ({
  kind: 'workflow',
  name,
  definition: { do: [{ first: { set: { a: 1 } } }] },
  ...more,
});
const calling = (name: string, agentName: string): Json =>
  workflow(name, { definition: { do: [{ ask: { call: 'agent', with: { agent: agentName } } }] } });
const webhook = (name: string, more: Json = {}): Json => ({
  kind: 'webhook',
  name,
  url: 'https://hooks.example.com/1',
  secret: '<HOOK_SECRET>',
  ...more,
});
const setName = (): string => `set-${uuidv7()}`;
const apply = (set: string, resources: Json[], more: Json = {}, client = asAnn): Promise<Reply> =>
  client.post('/apply', { set, resources, ...more });
const actionsOf = ({ body }: Reply): string[] =>
  body.plan.map(({ kind, name, action }: Record<string, string>) => `${action} ${kind} ${name}`);
const problemsOf = ({ body }: Reply): string[] =>
  body.problems.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`);
const namesOf = async (client: Client, path: string): Promise<string[]> =>
  (await client.get(`${path}?limit=200`)).body.map(({ name }: { name: string }) => name);

const hookSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const storeSecrets = async (client: Client): Promise<void> => {
  await client.put('/secrets/HOOK_SECRET', { value: hookSecret });
  await client.put('/secrets/NO_HOOK', { value: 'plain' });
};

test('a set is made in the order of dependencies, and applying it again changes nothing', async () => {
  await storeSecrets(asAnn);
  const set = setName();
  const resources = [
    calling('order-pay', 'order-runner'),
    agent('order-runner', { type: 'workflow', configuration: { workflow_id: 'workflow:order-inner' } }),
    webhook('order-chat', { types: ['io.cadenza.hitl'] }),
    workflow('order-inner', { tags: ['a'], description: 'inner' }),
  ];
  const planned = await apply(set, resources, { dry_run: true });
  const expected = [
    'create workflow order-inner',
    'create agent order-runner',
    'create workflow order-pay',
    'create webhook order-chat',
  ];
  expect([planned.status, actionsOf(planned)]).toEqual([200, expected]);
  expect(planned.body.plan.map(({ id }: { id: unknown }) => id)).toEqual([null, null, null, null]);
  expect(await namesOf(asAnn, '/workflows')).not.toContain('order-inner');

  const made = await apply(set, resources, { digest: planned.body.digest });
  expect([made.status, actionsOf(made), made.body.digest]).toEqual([200, expected, planned.body.digest]);
  const [inner, runner, pay] = made.body.plan.map(({ id }: { id: string }) => id);
  expect((await asAnn.get(`/agents/${runner}`)).body).toMatchObject({
    configuration: { workflow_id: inner },
    versions: [{ version: '1.0.0', status: 'published' }],
  });
  expect((await asAnn.get(`/workflows/${pay}`)).body).toMatchObject({ valid: true, runnable: true });

  const again = await apply(set, resources.toReversed());
  expect(new Set(actionsOf(again))).toEqual(
    new Set(expected.map((line) => line.replace('create', 'unchanged'))),
  );
  expect((await asAnn.get(`/workflows/${pay}`)).body.revision).toBe(1);
  const listed = await asAnn.get(`/apply?set=${set}&limit=3`);
  expect(listed.body).toMatchObject([
    { id: inner, set, kind: 'workflow', name: 'order-inner', applied_by: { id: ann.id, username: 'ann' } },
    { id: runner, archived_at: null },
    { id: pay },
  ]);
  expect(listed.headers.get('link')).toContain('rel="next"');
});

test('an item of a plan has the warnings of the agent, also in a dry run', async () => {
  const set = setName();
  const resources = [agent('warned', { url: null, configuration: { endpiont: 'https://x.example/' } })];
  const warnings = [
    { pointer: '/configuration/endpoint', message: expect.stringContaining('invoking the agent will fault') },
    {
      pointer: '/configuration/endpiont',
      code: 'agent_warning',
      message: expect.stringContaining('did you mean "endpoint"?'),
    },
  ];
  const planned = await apply(set, resources, { dry_run: true });
  expect(planned.body.plan).toMatchObject([{ action: 'create', warnings }]);
  const made = await apply(set, resources, { digest: planned.body.digest });
  expect(made.body.plan).toMatchObject([{ action: 'create', warnings }]);
  const { warnings: ofRecord } = (await asAnn.get(`/agents/${made.body.plan[0].id}`)).body;
  expect(made.body.plan[0].warnings).toEqual(
    ofRecord.map((warning: Json) => ({ ...warning, code: 'agent_warning' })),
  );
  expect((await apply(set, resources)).body.plan).toMatchObject([{ action: 'unchanged', warnings }]);
});

test('a set names agents that have namesakes, which is a warning', async () => {
  const set = setName();
  const first = await apply(set, [agent('namesake')]);
  expect(first.body.plan).toMatchObject([{ action: 'create', warnings: [] }]);
  const { body: other } = await asAnn.post('/agents', {
    name: 'namesake',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
  });
  const changed = await apply(set, [
    agent('namesake', { version: '1.1.0', configuration: { method: 'PUT' } }),
  ]);
  expect(changed.body.plan).toMatchObject([
    { action: 'update', warnings: [{ pointer: '/name', message: expect.stringContaining(other.id) }] },
  ]);
});

test('a rotation goes on under a set that has the new secret, and ends by one that has another', async () => {
  await storeSecrets(asAnn);
  const set = setName();
  const { id } = (await apply(set, [webhook('rotated')])).body.plan[0];
  const { secret, former_secret_until: ends } = (await asAnn.post(`/webhooks/${id}/rotate-secret`)).body;
  const endsAt = async () => (await asAnn.get(`/webhooks/${id}`)).body.former_secret_until;
  await asAnn.put('/secrets/HOOK_SECRET', { value: secret });
  const kept = await apply(set, [webhook('rotated', { types: ['io.cadenza.hitl'] })]);
  expect(kept.body.plan).toMatchObject([{ action: 'update', changes: ['types'] }]);
  expect(await endsAt()).toBe(ends);
  await asAnn.put('/secrets/HOOK_SECRET', { value: hookSecret });
  const back = await apply(set, [webhook('rotated', { types: ['io.cadenza.hitl'] })]);
  expect(back.body.plan).toMatchObject([{ action: 'update', changes: ['secret'] }]);
  expect(await endsAt()).toBeNull();
});

test('a changed resource is updated by name of its fields, and an edit by hand is set back', async () => {
  await storeSecrets(asAnn);
  const set = setName();
  const first = await apply(set, [agent('edit-a'), workflow('edit-w'), webhook('edit-h')]);
  const idOf = (kind: string): string =>
    first.body.plan.find((item: { kind: string }) => item.kind === kind).id;
  const next = [
    agent('edit-a', { version: '1.1.0', configuration: { method: 'PUT' }, skills: [{ name: 'score' }] }),
    workflow('edit-w', { definition: { do: [{ first: { set: { a: 2 } } }] }, tags: ['new'] }),
    webhook('edit-h', { types: ['io.cadenza.hitl'] }),
  ];
  const second = await apply(set, next);
  expect(second.body.plan).toMatchObject([
    { kind: 'agent', id: idOf('agent'), action: 'update', changes: ['version', 'configuration', 'skills'] },
    { kind: 'workflow', id: idOf('workflow'), action: 'update', changes: ['tags', 'definition'] },
    { kind: 'webhook', id: idOf('webhook'), action: 'update', changes: ['types'] },
  ]);
  expect((await asAnn.get(`/agents/${idOf('agent')}`)).body).toMatchObject({
    version: '1.1.0',
    configuration: { method: 'PUT' },
    skills: [{ name: 'score' }],
  });
  await asAnn.patch(`/workflows/${idOf('workflow')}`, { name: 'edited', tags: ['by hand'] });
  await asAnn.put('/secrets/HOOK_SECRET', { value: `whsec_${Buffer.alloc(32, 8).toString('base64')}` });
  const third = await apply(set, next);
  expect(third.body.plan).toMatchObject([
    { action: 'unchanged' },
    { action: 'update', changes: ['name', 'tags'] },
    { action: 'update', changes: ['secret'] },
  ]);
  expect((await asAnn.get(`/workflows/${idOf('workflow')}`)).body).toMatchObject({
    name: 'edit-w',
    revision: 2,
  });
  await asAnn.delete(`/agents/${idOf('agent')}`);
  expect(actionsOf(await apply(set, next))).toContain('create agent edit-a');
});

test('a credential of authentication_config is named by its key, and what is none is applied', async () => {
  const how = {
    scheme: 'oauth2',
    bearerFormat: 'JWT',
    flows: {
      clientCredentials: { tokenUrl: 'https://id.example/token', scopes: { 'plan:read': 'Read plans' } },
    },
  };
  const named = (authentication_config: Json): Json[] => [agent('how', { authentication_config })];
  const set = setName();
  expect(actionsOf(await apply(set, named(how)))).toEqual(['create agent how']);
  expect(actionsOf(await apply(set, named(how)))).toEqual(['unchanged agent how']);
  const key = 'super-secret-abcdef';
  const refused = await apply(set, named({ ...how, header: 'X-K', key, list: [{ 'a/b': 1, pin: '12345' }] }));
  expect(problemsOf(refused)).toEqual([
    '/resources/0/authentication_config/key literal_secret',
    '/resources/0/authentication_config/list/0/pin literal_secret',
  ]);
  expect(JSON.stringify(refused.body)).not.toContain(key);
});

test('each resource has its own warnings, and those of all agents are read at once', async () => {
  await storeSecrets(asAnn);
  const set = setName();
  const keyed = (name: string, more: Json = {}): Json =>
    agent(name, { configuration: { method: 'GET', headers: { 'x-key': '<HOOK_SECRET>' }, ...more } });
  const asking = (name: string, user: string): Json => {
    const human = { title: 'Go?', decisions: ['ok'], candidates: { users: [user] } };
    return workflow(name, { definition: { do: [{ ask: { call: 'human', with: human } }] } });
  };
  const resources = [
    asking('each-v', 'ann'),
    asking('each-w', 'nobody-here'),
    keyed('each-a', { metod: 'GET' }),
    keyed('each-b'),
    keyed('each-c', { haeders: {} }),
  ];
  const warned = async (): Promise<unknown[]> =>
    (await apply(set, resources)).body.plan.map(({ name, warnings }: any) => [
      name,
      warnings.map(({ pointer }: Json) => pointer),
    ]);
  const expected = [
    ['each-v', []],
    ['each-w', ['/definition/do/0/ask/with/candidates/users/0']],
    ['each-a', ['/configuration/metod']],
    ['each-b', []],
    ['each-c', ['/configuration/haeders']],
  ];
  expect(await warned()).toEqual(expected);
  const statements = await keepStatements(app.orm)(async () => expect(await warned()).toEqual(expected));
  expect(statements.filter(({ sql }) => sql.includes('as s (agent uuid'))).toHaveLength(1);
});

test('one mistake: nothing is applied, every problem is named with its pointer', async () => {
  await storeSecrets(asAnn);
  const set = setName();
  const definition = { use: { secrets: ['ABSENT'] }, do: [{ a: { set: { x: '${ .y' } } }] };
  const reply = await apply(set, [
    workflow('bad-good'),
    workflow('bad-w', { definition }),
    agent('bad-a', { configuration: { headers: { authorization: 'Bearer abcdefghijklmnop' } } }),
    calling('bad-follows', 'bad-a'),
    calling('bad-unknown', 'nobody'),
    agent('bad-p', { configuration: { headers: { 'x-key': '<MISSING_KEY>' } } }),
    webhook('bad-h', { secret: '<NO_HOOK>' }),
    webhook('bad-i', { secret: '<ABSENT>' }),
    webhook('bad-j', { secret: null, url: 'https://hooks.example.com/other' }),
    webhook('bad-k', { url: 'http://169.254.169.254/latest' }),
    agent('bad-s', { input_schema: { type: 'nonsense' } }),
    agent('bad-r', { type: 'workflow', configuration: { workflow_id: 'workflow:none' } }),
  ]);
  expect([reply.status, reply.body.code]).toEqual([422, 'not_applicable']);
  expect(problemsOf(reply).toSorted()).toEqual(
    [
      '/resources/1/definition/do/0/a/set/x expression',
      '/resources/1/definition/use/secrets/0 unknown_secret',
      '/resources/2/configuration/headers/authorization literal_secret',
      '/resources/4/definition/do/0/ask/with/agent unknown_agent',
      '/resources/5/configuration missing_reference',
      '/resources/6/secret invalid_secret',
      '/resources/7/secret unknown_secret',
      '/resources/8/secret required',
      '/resources/9/url egress_refused',
      '/resources/10/input_schema/type json_schema',
      '/resources/11/configuration/workflow_id unknown_workflow',
    ].toSorted(),
  );
  expect(reply.body.problems[0]).toMatchObject({ kind: 'workflow', name: 'bad-w' });
  expect(JSON.stringify(reply.body)).not.toContain('abcdefghijklmnop');
  expect((await namesOf(asAnn, '/workflows')).filter((name) => name.startsWith('bad-'))).toEqual([]);
  expect((await namesOf(asAnn, '/agents')).filter((name) => name.startsWith('bad-'))).toEqual([]);
  expect((await asAnn.get(`/apply?set=${set}`)).body).toEqual([]);
  const twice = await apply(set, [workflow('bad-t'), workflow('bad-t')]);
  expect(problemsOf(twice)).toEqual(['/resources/1/name duplicate']);
  const circle = await apply(set, [
    calling('bad-c', 'bad-d'),
    agent('bad-d', { type: 'workflow', configuration: { workflow_id: 'workflow:bad-c' } }),
  ]);
  expect(problemsOf(circle)).toEqual(['/resources/0 circular']);
});

test('a published version does not change without a higher number', async () => {
  const set = setName();
  await apply(set, [agent('fixed')]);
  const reply = await apply(set, [agent('fixed', { configuration: { method: 'PUT' } })]);
  expect(problemsOf(reply)).toEqual(['/resources/0/version version_immutable']);
  const draft = await apply(setName(), [agent('loose', { publish: false })]);
  const { id } = draft.body.plan[0];
  expect((await asAnn.get(`/agents/${id}`)).body.versions).toMatchObject([{ status: 'draft' }]);
});

test('a set never touches what a person or another set made', async () => {
  await storeSecrets(asAnn);
  const byHand = await asAnn.post('/workflows', { name: 'mine', definition: workflow('mine')['definition'] });
  const first = setName();
  const equal = await apply(first, [workflow('mine')]);
  expect(equal.body.plan).toMatchObject([{ action: 'unchanged', id: byHand.body.id }]);
  const differs = await apply(first, [workflow('mine', { tags: ['other'] })]);
  expect(problemsOf(differs)).toEqual(['/resources/0/name not_of_this_set']);
  const pruned = await apply(first, [], { prune: true });
  expect([pruned.status, pruned.body.plan]).toEqual([200, []]);
  expect((await asAnn.get(`/workflows/${byHand.body.id}`)).status).toBe(200);

  const theirs = await apply(first, [workflow('shared'), webhook('shared')]);
  const second = setName();
  expect(problemsOf(await apply(second, [workflow('shared')]))).toEqual([
    '/resources/0/name not_of_this_set',
  ]);
  expect(actionsOf(await apply(second, [webhook('shared')]))).toEqual(['create webhook shared']);
  // The same set name of another user is another set.
  const bob = await app.as(await app.createUser({ roles: ['builder'] }));
  expect(actionsOf(await apply(first, [workflow('shared')], {}, bob))).toEqual(['create workflow shared']);
  const theirPlan = await apply(first, [], { prune: true, dry_run: true }, bob);
  expect(actionsOf(theirPlan)).toEqual(['archive workflow shared']);
  expect((await bob.get(`/apply?set=${first}`)).body).toHaveLength(1);
  expect((await bob.get(`/workflows/${theirs.body.plan[0].id}`)).status).toBe(404);
});

test('pruning needs the digest of its plan, archives, and can be taken back', async () => {
  await storeSecrets(asAnn);
  const set = setName();
  const all = [agent('prune-a'), workflow('prune-w'), webhook('prune-h'), workflow('prune-stays')];
  const made = await apply(set, all);
  const ids: string[] = made.body.plan.map(({ id }: { id: string }) => id);
  const rest = [workflow('prune-stays')];
  expect(actionsOf(await apply(set, rest))).toEqual([
    'unchanged workflow prune-stays',
    'keep agent prune-a',
    'keep webhook prune-h',
    'keep workflow prune-w',
  ]);
  const refused = await apply(set, rest, { prune: true });
  expect([refused.status, refused.body.code]).toEqual([409, 'plan_required']);
  const wrong = await apply(set, rest, { prune: true, digest: '0'.repeat(64) });
  expect([wrong.status, wrong.body.code]).toEqual([409, 'plan_changed']);
  expect((await asAnn.get(`/workflows/${ids[1]}`)).status).toBe(200);
  const { body: plan } = await apply(set, rest, { prune: true, dry_run: true });
  expect(wrong.body.digest).toBe(plan.digest);

  const pruned = await apply(set, rest, { prune: true, digest: plan.digest });
  expect(actionsOf(pruned).filter((line) => line.startsWith('archive'))).toHaveLength(3);
  expect((await asAnn.get(`/workflows/${ids[1]}`)).status).toBe(404);
  expect((await asAnn.get(`/agents/${ids[0]}`)).body).toMatchObject({ status: 'inactive' });
  expect((await asAnn.get(`/webhooks/${ids[2]}`)).body).toMatchObject({ active: false });
  expect(actionsOf(await apply(set, rest, { prune: true }))).toEqual(['unchanged workflow prune-stays']);

  const back = await apply(set, all);
  expect(back.body.plan).toMatchObject([
    { id: ids[0], action: 'update', changes: ['status'] },
    { id: ids[1], action: 'update', changes: ['archived_at'] },
    { id: ids[2], action: 'update', changes: ['active'] },
    { id: ids[3], action: 'unchanged' },
  ]);
  expect((await asAnn.get(`/workflows/${ids[1]}`)).status).toBe(200);
});

const hook = (name: string, more: Json = {}): Json => ({
  kind: 'hook',
  name,
  scheme: 'github',
  secret: 'CALLS',
  ...more,
});
const source = (uri: string, more: Json = {}): Json => ({ kind: 'event_source', source: uri, ...more });

test('inbound webhooks and event sources are made, set back, pruned and brought back', async () => {
  const bob = await app.createUser({ roles: ['builder'] });
  for (const name of ['CALLS', 'CALLS_2'])
    await asAnn.put(`/secrets/${name}`, { value: 'a key of at least sixteen bytes' });
  const set = setName();
  const all = [hook('issues'), source('urn:till', { shared_with: [bob.id], description: 'The till' })];
  const made = await apply(set, all);
  expect(actionsOf(made)).toEqual(['create hook issues', 'create event_source urn:till']);
  const [hookId, sourceId]: string[] = made.body.plan.map(({ id }: { id: string }) => id);
  expect((await asAnn.get(`/hooks/${hookId}`)).body).toMatchObject({
    name: 'issues',
    secret: 'CALLS',
    source: expect.stringContaining(`/hooks/${hookId}`),
    tolerance_seconds: 300,
  });
  const [, till] = all;
  const upper = [all[0] ?? {}, { ...till, shared_with: [bob.id.toUpperCase()] }];
  expect(new Set(actionsOf(await apply(set, upper)))).toEqual(
    new Set(['unchanged hook issues', 'unchanged event_source urn:till']),
  );

  await asAnn.patch(`/hooks/${hookId}`, { name: 'renamed', event_type: 'by.hand' });
  await asAnn.patch(`/event-sources/${sourceId}`, { shared_with: [] });
  const rotated = [hook('issues', { secret: 'CALLS_2', former_secret: 'CALLS' }), all[1] ?? {}];
  expect((await apply(set, rotated)).body.plan).toMatchObject([
    { id: hookId, action: 'update', changes: ['name', 'secret', 'former_secret', 'event_type'] },
    { id: sourceId, action: 'update', changes: ['shared_with'] },
  ]);

  const { body: plan } = await apply(set, [], { prune: true, dry_run: true });
  expect((await asAnn.get(`/hooks/${hookId}`)).body.active).toBe(true);
  await asAnn.delete('/secrets/CALLS_2');
  // Without its secret it can be turned off, and not be turned on.
  const turn = (active: boolean): Promise<Reply> => {
    const turned = hook('issues', { secret: 'CALLS_2', former_secret: 'CALLS', active });
    return apply(set, [turned, all[1] ?? {}], { dry_run: true });
  };
  expect(actionsOf(await turn(false))).toContain('update hook issues');
  expect(problemsOf(await turn(true))).toEqual(['/resources/0/secret unknown_secret']);
  const pruned = await apply(set, [], { prune: true, digest: plan.digest });
  expect(actionsOf(pruned).toSorted()).toEqual(['archive event_source urn:till', 'archive hook issues']);
  expect((await asAnn.get(`/hooks/${hookId}`)).body).toMatchObject({ active: false });
  expect((await asAnn.get(`/event-sources/${sourceId}`)).status).toBe(404);
  expect(new Set(actionsOf(await apply(set, all)))).toEqual(
    new Set(['update hook issues', 'create event_source urn:till']),
  );
});

test('wrong inbound webhooks and event sources are named, those of others and of people stay', async () => {
  await asAnn.put('/secrets/CALLS', { value: 'a key of at least sixteen bytes' });
  await asAnn.post('/hooks', { name: 'by-hand', scheme: 'github', secret: 'CALLS' });
  await asAnn.post('/event-sources', { source: 'urn:by-hand' });
  const { id: bob } = await app.createUser({ roles: ['builder'] });
  const reply = await apply(setName(), [
    hook('no-secret', { secret: 'ABSENT', former_secret: 'ABSENT_TOO' }),
    hook('by-hand', { scheme: 'slack' }),
    source('urn:by-hand', { user_id: bob }),
    source(`${app.url}/hooks/1`),
    source('urn:nobody', { user_id: uuidv7() }),
    source('urn:twice', { user_id: bob, client_id: uuidv7() }),
  ]);
  expect(problemsOf(reply)).toEqual([
    '/resources/0/secret unknown_secret',
    '/resources/0/former_secret unknown_secret',
    '/resources/1/name not_of_this_set',
    '/resources/2/source not_of_this_set',
    '/resources/3/source reserved_source',
    '/resources/4/user_id unknown',
    '/resources/5/user_id not_allowed',
  ]);
  const equal = await apply(setName(), [hook('by-hand'), source('urn:by-hand')]);
  expect(actionsOf(equal)).toEqual(['unchanged hook by-hand', 'unchanged event_source urn:by-hand']);
  expect((await asAnn.get('/event-sources')).body.map((one: Json) => one['source'])).toContain('urn:by-hand');
});

test('a machine client applies sets, but neither binds nor unbinds sources', async () => {
  const owner = await app.createUser({ roles: ['builder'] });
  const asOwner = await app.as(owner);
  const { body } = await asOwner.post('/users/me/clients', { name: 'ci' });
  const { client_id, client_secret } = body;
  const token = await app.anonymous.post('/auth/token', {
    grant_type: 'client_credentials',
    client_id,
    client_secret,
  });
  const ci = createClient(app.url, token.body.access_token);
  const set = setName();
  const resources = [workflow('by-ci'), source('urn:ci', { client_id })];
  expect(problemsOf(await apply(set, resources, {}, ci))).toEqual(['/resources/1 person_required']);
  await apply(set, resources, {}, asOwner);
  expect(actionsOf(await apply(set, resources, {}, ci))).toEqual([
    'unchanged workflow by-ci',
    'unchanged event_source urn:ci',
  ]);
  const less = [workflow('by-ci')];
  expect(actionsOf(await apply(set, less, {}, ci))).toContain('keep event_source urn:ci');
  const pruned = await apply(set, less, { prune: true, dry_run: true }, ci);
  expect([pruned.status, pruned.body.code]).toEqual([403, 'person_required']);
});

test('a token prunes only what it has the scopes for', async () => {
  const set = setName();
  const all = [agent('scoped-a'), workflow('scoped-w')];
  expect((await apply(set, all)).status).toBe(200);
  const tokenOf = async (...scopes: string[]): Promise<Client> => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const { body } = await asAnn.post('/users/me/tokens', { name: 'ci', scopes, expires_at });
    return createClient(app.url, body.token);
  };
  const prune = (client: Client, digest?: string): Promise<Reply> =>
    apply(set, [], { prune: true, ...(digest === undefined ? { dry_run: true } : { digest }) }, client);
  const ofWorkflows = await tokenOf('workflows:write');
  const { body: plan } = await prune(asAnn);
  for (const reply of [await prune(ofWorkflows), await prune(ofWorkflows, plan.digest)])
    expect([reply.status, reply.body.code, reply.body.scope]).toEqual([
      403,
      'insufficient_scope',
      'agents:write',
    ]);
  expect(actionsOf(await apply(set, all)).map((line) => line.split(' ')[0])).toEqual([
    'unchanged',
    'unchanged',
  ]);
  const ofBoth = await tokenOf('workflows:write', 'agents:write');
  expect((await prune(ofBoth, plan.digest)).status).toBe(200);
});

test('the audit log of a record has what a set has done to it', async () => {
  const set = setName();
  const made = await apply(set, [agent('audited-a'), workflow('audited-w')]);
  const [agentId, workflowId]: string[] = made.body.plan.map(({ id }: { id: string }) => id);
  const kept = [workflow('audited-w', { description: 'changed' })];
  const { body: plan } = await apply(set, kept, { prune: true, dry_run: true });
  expect((await apply(set, kept, { prune: true, digest: plan.digest })).status).toBe(200);
  const logged = async (id: string | undefined): Promise<unknown[]> => {
    const { body } = await asAnn.get(`/audit?object_id=${id}`);
    return body.map(({ action, object, details, changes }: Json) => [action, object, details, changes]);
  };
  const object = { type: 'agent', id: agentId };
  expect(await logged(agentId)).toMatchObject([
    ['applySet', object, { set, done: 'archive' }, {}],
    ['applySet', object, { set, done: 'create' }, {}],
  ]);
  expect(await logged(workflowId)).toMatchObject([
    ['applySet', { type: 'workflow' }, { done: 'update' }, { description: {} }],
    ['applySet', { type: 'workflow' }, { done: 'create' }, {}],
  ]);
});

test("a workflow's runners are part of its resource, and go when the set no longer names them", async () => {
  const set = setName();
  const person = await app.createUser({ roles: ['viewer'] });
  const asPerson = await app.as(person);
  const ask = { do: [{ review: { call: 'human', with: { title: 'Go?', decisions: ['ok'] } } }] };
  const named = (runners?: Json): Json =>
    workflow('expenses', { definition: ask, ...(runners === undefined ? {} : { runners }) });
  const everyday = { users: [person.username], groups: ['staff'] };
  const { body } = await apply(set, [named(everyday)]);
  const warnings = [
    { pointer: '/definition/do/0/review', code: 'runner_cannot_decide' },
    { pointer: '/runners/groups/0', code: 'empty_group' },
  ];
  expect(body.plan).toMatchObject([{ action: 'create', warnings }]);
  const { id } = body.plan[0];
  const start = (): Promise<Reply> => asPerson.post(`/workflows/${id}/run`);
  expect((await start()).status).toBe(201);
  expect((await asAnn.get(`/workflows/${id}`)).body.runners).toEqual({
    users: [person.id],
    groups: ['staff'],
    everyone: false,
  });
  expect(actionsOf(await apply(set, [named(everyday)]))).toEqual(['unchanged workflow expenses']);
  const texts = await recordStatements(app.orm);
  expect(actionsOf(await apply(set, [named({ users: [person.username] })]))).toEqual([
    'update workflow expenses',
  ]);
  // Who they are is looked up once.
  expect(texts.filter((text) => /lower\(username\) as username from user_account/.test(text))).toHaveLength(
    1,
  );
  const gone = (await apply(set, [named()])).body.plan;
  expect(gone).toMatchObject([{ action: 'update', changes: ['runners'], warnings: [] }]);
  expect((await start()).status).toBe(403);
  const unknown = await apply(set, [named({ users: ['nobody-of-this-name'] })]);
  expect(problemsOf(unknown)).toEqual(['/resources/0/runners/users/0 unknown_user']);
});

test('whose a resource is stands at the set, not at the resource', async () => {
  const team_id = uuidv7();
  for (const resource of [workflow('w', { team_id }), agent('a', { team_id })]) {
    const { status, body } = await apply(setName(), [resource]);
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/resources/0/team_id' }]]);
  }
});

test('applies of one set at the same time give one record of each resource', async () => {
  const set = setName();
  const replies = await Promise.all(
    Array.from({ length: 6 }, () => apply(set, [agent('race-a'), calling('race-w', 'race-a')])),
  );
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  expect(
    replies
      .flatMap(actionsOf)
      .filter((line) => line.startsWith('create'))
      .toSorted(),
  ).toEqual(['create agent race-a', 'create workflow race-w']);
  expect((await namesOf(asAnn, '/agents')).filter((name) => name === 'race-a')).toHaveLength(1);
});

test('refuses callers without the role, and requests of the wrong form', async () => {
  expect((await apply(setName(), [], {}, app.anonymous)).status).toBe(401);
  expect((await apply(setName(), [], {}, await app.as('viewer'))).status).toBe(403);
  expect((await apply(setName(), [], {}, await app.as('approver'))).status).toBe(403);
  const pointersFor = async (body: Json): Promise<unknown> => {
    const reply = await asAnn.post('/apply', body);
    return [reply.status, reply.body.errors?.map(({ pointer }: { pointer: string }) => pointer)];
  };
  const set = setName();
  for (const name of ['', 'Upper', '../x', "a'b", 'a'.repeat(101), 'a\u0000b'])
    expect((await asAnn.post('/apply', { set: name, resources: [] })).body).toMatchObject({
      status: 422,
      errors: expect.arrayContaining([expect.objectContaining({ pointer: '/set' })]),
    });
  expect(await pointersFor({ set })).toEqual([422, ['/resources']]);
  expect(await pointersFor({ set, resources: [{ kind: 'user', name: 'x' }] })).toEqual([
    422,
    ['/resources/0/kind'],
  ]);
  expect(await pointersFor({ set, resources: [workflow('x', { owner_id: ann.id })] })).toEqual([
    422,
    ['/resources/0/owner_id'],
  ]);
  expect(await pointersFor({ set, resources: [webhook('x', { secret: 'whsec_abc' })] })).toEqual([
    422,
    ['/resources/0/secret'],
  ]);
  const many = Array.from({ length: 201 }, (_, index) => workflow(`w${index}`));
  expect(await pointersFor({ set, resources: many })).toEqual([422, ['/resources']]);
  expect(await pointersFor({ set, resources: [], digest: 'x' })).toEqual([422, ['/digest']]);
  expect((await asAnn.get('/apply?set=%00')).status).toBe(400);
});
