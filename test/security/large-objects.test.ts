/** Lists stay small enough to be answered, whatever objects users store. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { agentBody, registeredAgent } from '../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';

let t: TestApp;
let owner: TestUser;
let builder: Client;
let reader: Client;

const limits = {
  AGENT_MAX_VERSIONS: '4',
  AGENT_MAX_DRAFTS: '3',
  AGENT_MAX_SKILLS: '2',
  AGENT_MAX_BYTES: '100000',
  WORKFLOW_MAX_REVISIONS: '2',
  USER_MAX_SECRETS: '2',
  USER_MAX_WEBHOOKS: '1',
  USER_MAX_FILES: '1',
};

beforeAll(async () => {
  t = await startTestApp({ env: limits });
  owner = await t.createUser();
  builder = await t.as(owner);
  reader = await t.as(await t.createUser({ roles: ['viewer'] }));
});
afterAll(() => t.close());

/** JSON of that many bytes which does not compress well. */
const noise = (bytes: number): string =>
  Array.from({ length: Math.ceil(bytes / 16) }, () =>
    Math.random().toString(36).slice(2, 18).padEnd(16, 'x'),
  ).join('');
/** Text that compresses to a fraction of the limit of a list. */
const repeated = (bytes: number): string => 'a'.repeat(bytes);
const words = (count: number): string[] => Array.from({ length: count }, () => noise(48));
// Rows have any shape here.
const sql = (text: string, values: unknown[] = []) => t.orm.em.fork().execute<any[]>(text, values);
const sizeOf = (body: unknown): number => JSON.stringify(body).length;
const refusal = (setting: keyof typeof limits) => ({
  status: 409,
  body: {
    code: 'limit_reached',
    setting,
    limit: Number(limits[setting]),
    detail: expect.stringContaining(setting),
  },
});

/** Inserts an agent as it was possible before there were limits. */
async function agentWithVersions(count: number, bytes: number): Promise<string> {
  const { id } = await registeredAgent(builder, { visibility: 'public' });
  await sql(
    `insert into agent_version (id, agent_id, version, configuration, input_schema, output_schema, status,
                                created_by)
     select gen_random_uuid(), ?, '2.0.' || n, json_build_object('note', ?::text), '{}', '{}', 'draft', ?
     from generate_series(1, ?) n`,
    [id, noise(bytes), owner.id, count],
  );
  return id;
}

test('a list of agents with hundreds of large drafts stays small, with version summaries', async () => {
  const id = await agentWithVersions(300, 200_000);
  const list = await reader.get('/agents');
  expect(list.status).toBe(200);
  expect(sizeOf(list.body)).toBeLessThan(100_000);
  const agent = list.body.find((each: { id: string }) => each.id === id);
  expect(agent.versions).toHaveLength(301);
  expect(Object.keys(agent.versions[0]).toSorted()).toEqual([
    'created_at',
    'published_at',
    'status',
    'version',
  ]);
  expect(agent.omitted).toEqual([]);

  const versions = await reader.get(`/agents/${id}/versions?limit=200`);
  expect(sizeOf(versions.body)).toBeLessThan(200_000);
  expect(versions.body[0]).toMatchObject({ version: expect.any(String), omitted: ['configuration'] });
  expect(versions.body[0]).not.toHaveProperty('configuration');
  // The agent itself exceeds the limit of a single record, so it leaves out large fields, too.
  const record = await reader.get(`/agents/${id}`);
  expect(record.status).toBe(200);
  expect(sizeOf(record.body)).toBeLessThan(1_000_000);
  const single = await reader.get(`/agents/${id}/versions/2.0.7`);
  expect(single.body.configuration.note).toHaveLength(200_000);
});

test('a list leaves out and names every large field of an agent, which the record contains', async () => {
  const large = {
    description: noise(17_000),
    documentation: repeated(17_000),
    configuration: { note: noise(20_000) },
    input_schema: { description: noise(17_000) },
    output_schema: { description: repeated(40_000) },
    authentication_config: { note: noise(17_000) },
    modalities: words(400),
    capabilities: Array<string>(400).fill(repeated(50)),
    tags: words(400),
  };
  const skill = { name: 'a skill', description: noise(9_000) };
  const created = await builder.post(
    '/agents',
    agentBody({ visibility: 'public', ...large, skills: [skill, skill] }),
  );
  expect(created).toMatchObject({ status: 201, body: { ...large, skills: [skill, skill] } });
  const { body } = await reader.get('/agents?limit=1');
  expect(body[0].id).toBe(created.body.id);
  expect(body[0].omitted.toSorted()).toEqual([...Object.keys(large), 'skills', 'warnings'].toSorted());
  for (const name of body[0].omitted) expect(body[0]).not.toHaveProperty(name);
  expect(sizeOf(body)).toBeLessThan(3_000);
  expect((await reader.get(`/agents/${created.body.id}`)).body).toMatchObject(large);
  // A record from a list can be sent back without losing what the list left out.
  const { name, omitted, id } = body[0];
  expect((await builder.patch(`/agents/${id}`, { name, omitted })).body).toMatchObject(large);
});

test('a tag, capability or modality too long for an index is refused', async () => {
  for (const name of ['tags', 'capabilities', 'modalities']) {
    expect(await builder.post('/agents', agentBody({ [name]: [noise(600)] }))).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: `/${name}/0` }] },
    });
  }
});

test('small fields stay in a list, whatever they contain', async () => {
  const small = {
    description: null,
    configuration: { note: repeated(16_000) },
    tags: ['a', 'null', '{}'],
    modalities: null,
  };
  const created = await builder.post(
    '/agents',
    agentBody({ visibility: 'public', ...small, skills: [{ name: 'x', tags: ['y'] }] }),
  );
  const { body } = await reader.get('/agents?limit=1');
  expect(body[0]).toMatchObject({
    ...small,
    id: created.body.id,
    omitted: [],
    skills: [{ name: 'x', tags: ['y'], description: null }],
    created_at: created.body.created_at,
  });
});

test('a list of skills leaves out large fields', async () => {
  const { id } = await registeredAgent(builder, { visibility: 'public' });
  await builder.post(`/agents/${id}/skills`, {
    name: 'large',
    examples: [noise(20_000)],
    description: 'small',
  });
  const { body } = await reader.get(`/agents/${id}/skills`);
  expect(body).toMatchObject([{ name: 'large', description: 'small', omitted: ['examples'] }]);
  expect(body[0]).not.toHaveProperty('examples');
});

test('a list of runs with large results stays small, without tasks and logs', async () => {
  const ids: string[] = [];
  for (let count = 0; count < 15; count += 1) {
    const id = uuidv7();
    ids.push(id);
    await sql(
      `insert into run (id, workflow_name, definition, status, input, output, error, owner_id, root_run_id)
       values (?, 'large', '{}', 'completed', ?::json, ?::json, null, ?, ?)`,
      [
        id,
        JSON.stringify({ text: repeated(100_000) }),
        JSON.stringify({ text: noise(1_000_000) }),
        owner.id,
        id,
      ],
    );
  }
  const { status, body } = await builder.get('/runs?limit=15');
  expect(status).toBe(200);
  expect(sizeOf(body)).toBeLessThan(20_000);
  for (const run of body) {
    expect(run.omitted).toEqual(['input_params', 'output']);
    for (const name of ['input_params', 'output', 'tasks', 'logs']) expect(run).not.toHaveProperty(name);
  }
  expect((await builder.get(`/runs/${ids[0]}`)).body).toMatchObject({
    input_params: { text: repeated(100_000) },
    output: { text: expect.any(String) },
    logs: [],
  });
});

test('lists of workflows and revisions leave out large fields, a revision contains them', async () => {
  const definition = { do: [{ step: { set: { note: noise(20_000) } } }] };
  const created = await builder.post('/workflows', {
    name: 'large',
    definition,
    visibility: 'public',
    description: noise(20_000),
  });
  expect(created.body.definition.do).toEqual(definition.do);
  const listed = (await reader.get('/workflows?limit=1')).body[0];
  expect(listed).toMatchObject({
    id: created.body.id,
    valid: true,
    runnable: true,
    problems: [],
    omitted: ['description', 'definition'],
  });
  expect(listed).not.toHaveProperty('definition');
  const revisions = (await reader.get(`/workflows/${created.body.id}/revisions`)).body;
  expect(revisions).toMatchObject([{ revision: 1, omitted: ['definition'] }]);
  expect((await reader.get(`/workflows/${created.body.id}/revisions/1`)).body.definition.do).toEqual(
    definition.do,
  );
});

test('a list shows a workflow with very many problems without problems and runnability', async () => {
  const created = await builder.post('/workflows', {
    name: 'many',
    definition: { do: [{ step: { set: { a: 1 } } }] },
    visibility: 'public',
  });
  const problems = Array.from({ length: 200 }, (_, index) => ({
    pointer: `/do/${index}`,
    code: 'no_effect',
    message: noise(100),
    severity: 'warning',
  }));
  const agents = Array.from({ length: 200 }, (_, index) => ({
    pointer: `/do/${index}`,
    agent: noise(100),
    agent_id: uuidv7(),
    version: null,
  }));
  await sql(`update workflow_revision set problems = ?::jsonb, agents = ?::jsonb where workflow_id = ?`, [
    JSON.stringify(problems),
    JSON.stringify(agents),
    created.body.id,
  ]);
  const listed = (await reader.get('/workflows?limit=1')).body[0];
  expect(listed).toMatchObject({ id: created.body.id, valid: true, omitted: ['problems', 'runnable'] });
  expect(listed).not.toHaveProperty('problems');
  expect((await reader.get(`/workflows/${created.body.id}`)).body).toMatchObject({
    runnable: true,
    problems,
  });
});

test('a list of human tasks leaves out large fields', async () => {
  const run = uuidv7();
  await sql(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id)
      values (?, 'w', '{}', 'waiting', ?, ?)`,
    [run, owner.id, run],
  );
  const id = uuidv7();
  const columns = {
    id,
    run_id: run,
    workflow_name: 'w',
    owner_id: owner.id,
    initiator_id: owner.id,
    task: '/do/0/ask',
    task_name: 'ask',
    title: 'Large?',
  };
  const required = await sql(
    `select column_name as name from information_schema.columns
      where table_name = 'hitl_task' and is_nullable = 'NO'
        and column_default is null and is_generated = 'NEVER'`,
  );
  const defaults: Record<string, unknown> = {
    decisions: '[{"id":"approve","label":"Approve","requires_comment":false}]',
    candidates: '{"users":[],"roles":[],"groups":[]}',
    candidate_keys: `{id:${owner.id}}`,
    priority: 50,
    status: 'open',
  };
  const row: Record<string, unknown> = {
    ...defaults,
    ...columns,
    subject: JSON.stringify({ text: noise(50_000) }),
  };
  const missing = required.filter(({ name }: { name: string }) => !(name in row));
  expect(missing).toEqual([]);
  const names = Object.keys(row);
  await sql(
    `insert into hitl_task (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
    Object.values(row),
  );
  await sql(
    `insert into hitl_comment (id, task_id, comment, created_by, created_at)
      select gen_random_uuid(), ?, repeat('c', 9000), ?, now() from generate_series(1, 3)`,
    [id, owner.id],
  );

  const listed = (await builder.get('/hitl/tasks')).body.find((task: { id: string }) => task.id === id);
  expect(listed).toMatchObject({
    title: 'Large?',
    omitted: ['subject', 'comments'],
    decisions: [{ id: 'approve' }],
  });
  for (const name of listed.omitted) expect(listed).not.toHaveProperty(name);
  const task = await builder.get(`/hitl/tasks/${id}`);
  expect(task.body.subject.text).toHaveLength(50_000);
  expect(task.body.comments).toHaveLength(3);
});

test('a summary leaves out every field over 1 KiB, and keeps and names the same fields', async () => {
  const description = noise(2_000);
  const definition = { do: [{ step: { set: { note: repeated(2_000) } } }] };
  const agent = await registeredAgent(builder, {
    visibility: 'public',
    description,
    configuration: { note: repeated(2_000) },
  });
  const workflow = (
    await builder.post('/workflows', { name: 'medium', definition, visibility: 'public', description })
  ).body;
  const run = uuidv7();
  await sql(
    `insert into run (id, workflow_name, definition, status, input, output, owner_id, root_run_id)
     values (?, 'w', '{}', 'completed', '{"order":"A-1"}', ?::json, ?, ?)`,
    [run, JSON.stringify({ text: noise(2_000) }), owner.id, run],
  );
  const first = async (path: string) => (await builder.get(path)).body[0];
  for (const [path, id, omitted] of [
    ['/agents', agent.id, ['description', 'configuration', 'warnings']],
    [`/agents/${agent.id}/versions`, undefined, ['configuration']],
    ['/workflows', workflow.id, ['description', 'definition']],
    [`/workflows/${workflow.id}/revisions`, undefined, ['definition']],
    ['/runs', run, ['output']],
  ] as const) {
    const [full, summary] = [await first(`${path}?limit=1`), await first(`${path}?limit=1&view=summary`)];
    expect([path, full.omitted]).toEqual([path, []]);
    if (id !== undefined) expect(full.id).toBe(id);
    expect([path, summary.omitted]).toEqual([path, omitted]);
    const rest = Object.entries(full).filter(([name]) => !(omitted as readonly string[]).includes(name));
    expect(summary).toEqual({ ...Object.fromEntries(rest), omitted });
  }
  expect((await first('/runs?limit=1&view=summary')).input_params).toEqual({ order: 'A-1' });
  const pages = await builder.get('/runs?limit=1&view=summary');
  expect(pages.headers.get('link')).toContain('view=summary');
  for (const path of ['/runs', '/hitl/tasks', '/marketplace/items', '/agents', `/agents/${agent.id}/runs`]) {
    const { status, body } = await builder.get(`${path}?view=everything`);
    expect([path, status, body.errors[0].pointer]).toEqual([path, 400, 'view']);
    expect((await builder.get(`${path}?view=summary`)).status).toBe(200);
  }
});

test('a summary of human tasks leaves out subject, form and comments over 1 KiB', async () => {
  const run = uuidv7();
  await sql(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id)
      values (?, 'w', '{}', 'waiting', ?, ?)`,
    [run, owner.id, run],
  );
  const id = uuidv7();
  await sql(
    `insert into hitl_task (id, run_id, workflow_name, owner_id, initiator_id, task, task_name, title,
                            decisions, candidates, candidate_keys, priority, status, subject, form_schema)
     values (?, ?, 'w', ?, ?, '/do/0/ask', 'ask', 'Medium', ?, ?, ?, 90, 'open', ?::json, ?::json)`,
    [
      id,
      run,
      owner.id,
      owner.id,
      '[{"id":"approve","label":"Approve","requires_comment":false}]',
      '{"users":[],"roles":[],"groups":[]}',
      `{id:${owner.id}}`,
      JSON.stringify({ text: noise(2_000) }),
      JSON.stringify({ description: repeated(2_000) }),
    ],
  );
  await sql(
    `insert into hitl_comment (id, task_id, comment, created_by, created_at)
      values (gen_random_uuid(), ?, repeat('c', 2000), ?, now())`,
    [id, owner.id],
  );
  const list = async (view: string) =>
    (await builder.get(`/hitl/tasks?view=${view}`)).body.find((task: { id: string }) => task.id === id);
  expect((await list('full')).omitted).toEqual([]);
  const summary = await list('summary');
  expect(summary).toMatchObject({ title: 'Medium', decisions: [{ id: 'approve' }] });
  expect(summary.omitted).toEqual(['subject', 'form_schema', 'comments']);
  for (const name of summary.omitted) expect(summary).not.toHaveProperty(name);
});

test('versions, drafts and bytes of an agent are limited, but older drafts can change', async () => {
  const { id } = await registeredAgent(builder);
  const at = `/agents/${id}/versions`;
  for (const version of ['1.1.0', '1.2.0']) expect((await builder.post(at, { version })).status).toBe(201);
  expect(await builder.post(at, { version: '1.3.0' })).toMatchObject(refusal('AGENT_MAX_DRAFTS'));
  await builder.post(`${at}/1.0.0/publish`);
  expect((await builder.post(at, { version: '1.3.0' })).status).toBe(201);
  await builder.post(`${at}/1.3.0/publish`);
  expect(await builder.post(at, { version: '1.4.0' })).toMatchObject(refusal('AGENT_MAX_VERSIONS'));
  expect(await builder.patch(`/agents/${id}`, { version: '1.4.0' })).toMatchObject(
    refusal('AGENT_MAX_VERSIONS'),
  );
  expect((await builder.get(at)).body).toHaveLength(4);
  expect(await builder.patch(`${at}/1.2.0`, { configuration: { note: noise(120_000) } })).toMatchObject(
    refusal('AGENT_MAX_BYTES'),
  );
  expect((await builder.patch(`${at}/1.2.0`, { configuration: { note: 'small' } })).status).toBe(200);
  expect(await builder.post('/agents', agentBody({ configuration: { note: noise(120_000) } }))).toMatchObject(
    refusal('AGENT_MAX_BYTES'),
  );
});

test('the numbers of skills, revisions, secrets, webhooks and files are limited', async () => {
  const someone = await t.as(await t.createUser());
  const { id } = await registeredAgent(someone, { skills: [{ name: 'a' }] });
  expect((await someone.post(`/agents/${id}/skills`, { name: 'b' })).status).toBe(201);
  expect(await someone.post(`/agents/${id}/skills`, { name: 'c' })).toMatchObject(
    refusal('AGENT_MAX_SKILLS'),
  );
  expect(
    await someone.post('/agents', agentBody({ skills: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })),
  ).toMatchObject(refusal('AGENT_MAX_SKILLS'));

  const definition = (value: number) => ({ do: [{ step: { set: { value } } }] });
  const workflow = (await someone.post('/workflows', { name: 'w', definition: definition(1) })).body.id;
  expect((await someone.patch(`/workflows/${workflow}`, { definition: definition(2) })).body.revision).toBe(
    2,
  );
  expect(await someone.patch(`/workflows/${workflow}`, { definition: definition(3) })).toMatchObject(
    refusal('WORKFLOW_MAX_REVISIONS'),
  );
  expect((await someone.patch(`/workflows/${workflow}`, { description: 'still' })).status).toBe(200);

  for (const name of ['A', 'B'])
    expect((await someone.put(`/secrets/${name}`, { value: 'x' })).status).toBe(201);
  expect(await someone.put('/secrets/C', { value: 'x' })).toMatchObject(refusal('USER_MAX_SECRETS'));
  expect((await someone.put('/secrets/B', { value: 'y' })).status).toBe(200);
  expect(await someone.patch(`/agents/${id}`, { configuration: { api_key: 'literal' } })).toMatchObject(
    refusal('USER_MAX_SECRETS'),
  );
  expect((await someone.patch(`/agents/${id}`, { configuration: { api_key: '<A>' } })).status).toBe(200);

  const webhook = { url: 'https://example.com/hook' };
  expect((await someone.post('/webhooks', webhook)).status).toBe(201);
  expect(await someone.post('/webhooks', webhook)).toMatchObject(refusal('USER_MAX_WEBHOOKS'));

  const headers = { 'content-type': 'text/plain', 'idempotency-key': 'the-first' };
  const first = await someone.request('POST', '/files', { body: 'text', headers });
  expect(first.status).toBe(201);
  expect(
    await someone.request('POST', '/files', { body: 'other', headers: { 'content-type': 'text/plain' } }),
  ).toMatchObject(refusal('USER_MAX_FILES'));
  expect((await someone.request('POST', '/files', { body: 'text', headers })).body.id).toBe(first.body.id);
});
