import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { compareBuild } from 'semver';

import { isInShare } from '../../../domain/registry/canary.ts';
import { pinAgent } from '../../../domain/registry/pin.ts';
import { pinAll } from '../../../domain/runs/pins.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { agentTask } from '../../support/definitions.ts';
import { insertRun } from '../../support/human-tasks.ts';

let t: TestApp;
let owner: TestUser;
let builder: Client;
let stranger: TestUser;

beforeAll(async () => {
  t = await startTestApp();
  owner = await t.createUser();
  builder = await t.as(owner);
  stranger = await t.createUser();
});
afterAll(() => t.close());

interface Steps {
  publish?: string[];
  deprecate?: string[];
  draft?: string[];
}

/** A public agent whose versions are taken through their states in this order. */
async function agentWith(
  { publish = [], deprecate = [], draft = [] }: Steps,
  more: Record<string, unknown> = {},
): Promise<string> {
  const versions = [...publish, ...deprecate, ...draft];
  const created = await builder.post(
    '/agents',
    agentBody({ name: `agent-${Math.random()}`, visibility: 'public', version: versions[0], ...more }),
  );
  const at = `/agents/${created.body.id}/versions`;
  for (const version of versions.slice(1))
    expect(
      (await builder.post(at, { version, configuration: { endpoint: `https://${version}.example` } })).status,
    ).toBe(201);
  for (const version of [...publish, ...deprecate])
    expect((await builder.post(`${at}/${version}/publish`)).status).toBe(200);
  for (const version of deprecate)
    expect((await builder.post(`${at}/${version}/deprecate`)).status).toBe(200);
  return created.body.id;
}

const pinned = async (id: string, version?: string, who = owner) => {
  const pin = await pinAgent(t.orm.em.fork(), who.id, { agent: id, version });
  return pin.found ? pin.pinned.version : pin.reason;
};
const usedBy = async (runId: string) => {
  const [row] = await t.orm.em
    .fork()
    .execute<{ version: string }[]>('select version from run_pin where run_id = ?', [runId]);
  return row?.version;
};
const callOf = (agent: string, version?: string) => ({
  do: [{ ask: agentTask(agent, version === undefined ? {} : { version }) }],
});
const workflowOf = async (agent: string, version?: string, who = builder) =>
  (await who.post('/workflows', { name: 'w', definition: callOf(agent, version) })).body;

test('a call without a version uses the highest published one, not the draft', async () => {
  const id = await agentWith({ publish: ['1.0.0'] });
  const raised = await builder.patch(`/agents/${id}`, {
    version: '2.0.0',
    configuration: { unfinished: true },
  });
  expect(raised.body).toMatchObject({ version: '2.0.0', published_version: '1.0.0' });
  expect(await pinned(id)).toBe('1.0.0');
  expect(await usedBy((await builder.post(`/agents/${id}/invoke`, { input: {} })).body.id)).toBe('1.0.0');
  const workflow = await workflowOf(id);
  expect(await usedBy((await builder.post(`/workflows/${workflow.id}/run`, {})).body.id)).toBe('1.0.0');
  expect((await builder.get(`/agents/${id}/.well-known/agent.json`)).body.version).toBe('2.0.0');
  await builder.post(`/agents/${id}/versions/2.0.0/publish`);
  expect(await pinned(id)).toBe('2.0.0');
  expect((await builder.get(`/agents/${id}`)).body.published_version).toBe('2.0.0');
});

test('the highest version is the highest by semantic versioning, not by text or time', async () => {
  const id = await agentWith({ publish: ['1.9.0', '1.10.0', '1.10.0-rc.2', '1.2.0'], draft: ['3.0.0'] });
  expect(await pinned(id)).toBe('1.10.0');
  expect((await builder.get(`/agents/${id}`)).body.published_version).toBe('1.10.0');
});

test('without a published version the highest deprecated one serves, or else the only draft', async () => {
  const retired = await agentWith({ deprecate: ['1.0.0', '1.1.0'], draft: ['2.0.0'] });
  expect(await pinned(retired)).toBe('1.1.0');
  expect((await builder.get(`/agents/${retired}`)).body.published_version).toBeNull();
  const fresh = await agentWith({ draft: ['1.0.0', '2.0.0'] });
  expect(await pinned(fresh)).toBe('1.0.0');
  expect(await pinned(fresh, undefined, stranger)).toBe('1.0.0');
  expect(await pinned(fresh, '^2.0.0', stranger)).toBe('2.0.0');
});

test('owner and admins can use a draft by name, and nobody else', async () => {
  const id = await agentWith({ publish: ['1.0.0'] });
  await builder.patch(`/agents/${id}`, { version: '2.0.0' });
  const admin = await t.user('admin');
  for (const user of [owner, admin]) {
    expect(await pinned(id, 'draft', user)).toBe('2.0.0');
    expect(await pinned(id, '2.0.0', user)).toBe('2.0.0');
    const run = await (await t.as(user)).post(`/agents/${id}/invoke`, { input: {}, version: 'draft' });
    expect(await usedBy(run.body.id)).toBe('2.0.0');
  }
  const other = await t.as(stranger);
  for (const version of ['draft', '2.0.0']) {
    expect(await pinned(id, version, stranger)).toBe('draft_forbidden');
    expect(await other.post(`/agents/${id}/invoke`, { input: {}, version })).toMatchObject({
      status: 403,
      body: { code: 'draft_forbidden' },
    });
    const workflow = await workflowOf(id, version, other);
    expect(workflow).toMatchObject({
      valid: true,
      runnable: false,
      problems: [{ pointer: '/do/0/ask/with/agent', code: 'draft_forbidden', severity: 'unsupported' }],
    });
    expect((await other.post(`/workflows/${workflow.id}/run`, {})).status).toBe(422);
  }
  await builder.post(`/agents/${id}/versions/2.0.0/publish`);
  expect(await builder.post(`/agents/${id}/invoke`, { input: {}, version: 'draft' })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/version', code: 'unknown_version' }] },
  });
});

test('a private agent of another user stays invisible whatever version is named', async () => {
  const id = await agentWith({ publish: ['1.0.0'] }, { visibility: 'private' });
  expect((await (await t.as(stranger)).post(`/agents/${id}/invoke`, { version: 'draft' })).status).toBe(404);
});

test('an invocation takes an exact version or a range, and refuses anything else', async () => {
  const id = await agentWith({ publish: ['1.0.0', '1.2.0', '2.0.0'], draft: ['2.1.0'] });
  for (const [version, used] of [
    ['1.0.0', '1.0.0'],
    ['^1.0.0', '1.2.0'],
    ['>=1', '2.0.0'],
    ['2.x', '2.0.0'],
  ]) {
    expect(await usedBy((await builder.post(`/agents/${id}/invoke`, { version })).body.id)).toBe(used);
  }
  expect(await builder.post(`/agents/${id}/invoke`, { version: '^3' })).toMatchObject({
    status: 422,
    body: { code: 'unknown_version', errors: [{ pointer: '/version' }] },
  });
  expect(await builder.post(`/agents/${id}/invoke`, { version: 'newest' })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/version' }] },
  });
});

test('a workflow is runnable as long as a version satisfies its range, without a new save', async () => {
  const id = await agentWith({ publish: ['1.0.0'] });
  const { id: workflow } = await workflowOf(id, '^2.0.0');
  const look = async () => (await builder.get(`/workflows/${workflow}`)).body;
  const unsatisfied = {
    valid: true,
    runnable: false,
    problems: [{ pointer: '/do/0/ask/with/agent', code: 'unknown_version', severity: 'unsupported' }],
  };
  expect(await look()).toMatchObject(unsatisfied);
  expect((await builder.get('/workflows?limit=1')).body).toMatchObject([unsatisfied]);
  expect((await builder.get(`/workflows/${workflow}/revisions`)).body).toMatchObject([unsatisfied]);
  expect((await builder.get(`/workflows/${workflow}/revisions/1`)).body).toMatchObject(unsatisfied);
  expect(
    (await builder.post('/workflows/validate', { definition: callOf(id, '^2.0.0') })).body,
  ).toMatchObject(unsatisfied);
  expect(await builder.post(`/workflows/${workflow}/run`, {})).toMatchObject({
    status: 422,
    body: { code: 'unknown_version', errors: [{ pointer: '/do/0/ask/with/agent' }] },
  });

  await builder.post(`/agents/${id}/versions`, { version: '2.0.0' });
  expect(await look()).toMatchObject(unsatisfied);
  await builder.post(`/agents/${id}/versions/2.0.0/publish`);
  expect(await look()).toMatchObject({ runnable: true, problems: [] });
  expect((await builder.post(`/workflows/${workflow}/run`, {})).status).toBe(201);

  await builder.post(`/agents/${id}/versions/2.0.0/deprecate`);
  expect(await look()).toMatchObject({
    runnable: true,
    problems: [{ pointer: '/do/0/ask/with/agent', code: 'deprecated_version', severity: 'warning' }],
  });
});

test('a definition can ask for the version "draft", and for no other word', async () => {
  const id = await agentWith({ publish: ['1.0.0'], draft: ['2.0.0'] });
  expect(await workflowOf(id, 'draft')).toMatchObject({ valid: true, runnable: true, problems: [] });
  expect(await workflowOf(id, 'drafts')).toMatchObject({ valid: false, problems: [{ code: 'version' }] });
});

test('a run uses type, address and credentials of the agent as they were at its start', async () => {
  const id = await agentWith(
    { publish: ['1.0.0'] },
    { url: 'https://old.example', authentication_type: 'none' },
  );
  const before = (await builder.post(`/agents/${id}/invoke`, {})).body.id;
  const patch = {
    url: 'https://new.example',
    type: 'llm',
    execution_type: 'api',
    authentication_type: 'api_key',
    authentication_config: { api_key: '<KEY>' },
  };
  expect((await builder.patch(`/agents/${id}`, patch)).status).toBe(200);
  const after = (await builder.post(`/agents/${id}/invoke`, {})).body.id;
  const snapshot = async (runId: string) =>
    (
      await t.orm.em
        .fork()
        .execute<{ snapshot: unknown }[]>('select snapshot from run_pin where run_id = ?', [runId])
    )[0]?.snapshot;
  expect(await snapshot(before)).toMatchObject({
    version: '1.0.0',
    url: 'https://old.example',
    type: 'api',
    execution_type: null,
    authentication_type: 'none',
    authentication_config: null,
  });
  expect(await snapshot(after)).toMatchObject({ version: '1.0.0', ...patch });
});

test('a run of a deprecated agent logs a warning', async () => {
  const { id: workflow } = (
    await builder.post('/workflows', { name: 'inner', definition: { do: [{ step: { set: { a: 1 } } }] } })
  ).body;
  const id = await agentWith(
    { deprecate: ['1.0.0'] },
    { type: 'workflow', configuration: { workflow_id: workflow } },
  );
  const run = await builder.post(`/agents/${id}/invoke`, {});
  expect(run.body).toMatchObject({
    workflow_id: workflow,
    logs: [
      { seq: 1 },
      {
        seq: 2,
        level: 'warn',
        message: expect.stringMatching(/^Version 1\.0\.0 of the agent .* is deprecated$/),
      },
    ],
  });
});

test('the database orders versions as semver does', async () => {
  const versions = [
    '0.0.0',
    '0.0.10',
    '0.0.9',
    '1.0.0',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0-0',
    '1.0.0-10',
    '1.0.0-9',
    '1.0.0--',
    '1.0.0-Z',
    '1.0.0+build',
    '1.0.0+build.2',
    '1.0.0+build.10',
    '1.0.0-rc.1+5',
    '1.0.0-a-b.c',
    '10.0.0',
    '9.99.99',
    '1.0.1-0',
    '2.0.0-x+a-b',
    '9007199254740991.0.0',
  ];
  const rows = await t.orm.em.fork().execute<{ version: string }[]>(
    `select value as version
        from json_array_elements_text(?::json) order by semver_precedence(value) collate "C"`,
    [JSON.stringify(versions)],
  );
  expect(rows.map(({ version }) => version)).toEqual(versions.toSorted(compareBuild));
});

test('a canary gets its share of the runs, and the others go as if it were not published', async () => {
  const id = await agentWith({ publish: ['1.0.0'], draft: ['2.0.0'] });
  const canary = (body: unknown) => builder.put(`/agents/${id}/canary`, body);
  expect(await canary({ version: '2.0.0', percent: 50 })).toMatchObject({
    status: 200,
    body: { version: '2.0.0', percent: 50, status: 'draft' },
  });
  const invoke = async (more: Record<string, unknown> = {}) =>
    (await builder.post(`/agents/${id}/invoke`, { input: {}, ...more })).body.id as string;
  const versions = async (runs: string[]) => new Set(await Promise.all(runs.map(usedBy)));
  const some = () => Promise.all(Array.from({ length: 20 }, () => invoke()));
  // A draft takes no calls.
  expect(await versions(await some())).toEqual(new Set(['1.0.0']));
  await builder.post(`/agents/${id}/versions/2.0.0/publish`);
  const runs = await some();
  expect(await versions(runs)).toEqual(new Set(['1.0.0', '2.0.0']));
  for (const run of runs) expect(await usedBy(run)).toBe(isInShare(run, id, 50) ? '2.0.0' : '1.0.0');
  expect(await pinned(id)).toBe('1.0.0');
  expect((await builder.get(`/agents/${id}`)).body.published_version).toBe('2.0.0');

  // Who names a version gets it, and a workflow's run is shared like any other.
  await canary({ version: '2.0.0', percent: 100 });
  expect(await usedBy(await invoke({ version: '1.0.0' }))).toBe('1.0.0');
  expect(await usedBy(await invoke({ version: '^1.0.0' }))).toBe('1.0.0');
  const workflow = await workflowOf(id);
  expect(await usedBy((await builder.post(`/workflows/${workflow.id}/run`, {})).body.id)).toBe('2.0.0');

  // Rolled back, and promoted.
  await builder.post(`/agents/${id}/versions/2.0.0/deprecate`);
  expect(await usedBy(await invoke())).toBe('1.0.0');
  expect((await canary({ version: '2.0.0', percent: 5 })).status).toBe(422);
  await builder.post(`/agents/${id}/versions`, { version: '3.0.0' });
  await canary({ version: '3.0.0', percent: 0.01 });
  await builder.post(`/agents/${id}/versions/3.0.0/publish`);
  expect(await pinned(id)).toBe('1.0.0');
  expect((await builder.delete(`/agents/${id}/canary`)).status).toBe(204);
  expect(await usedBy(await invoke())).toBe('3.0.0');
  expect((await canary({ version: '9.0.0', percent: 5 })).body.errors).toMatchObject([
    { pointer: '/version' },
  ]);
  expect((await canary({ version: '3.0.0', percent: 0 })).status).toBe(422);
});

test('a retry goes where its run went, whatever the share is now', async () => {
  const id = await agentWith({ publish: ['1.0.0', '2.0.0'] });
  const em = t.orm.em.fork();
  const before = await insertRun(t.orm, { owner: owner.id });
  await em.execute(
    `insert into run_pin (run_id, reference, agent_id, version, snapshot) values (?, ?, ?, '1.0.0', '{}')`,
    [before, id, id],
  );
  await builder.put(`/agents/${id}/canary`, { version: '2.0.0', percent: 100 });
  const version = async (run: { id: string; retry_of?: string }) =>
    (await pinAll(em, owner.id, [{ agent: id }], { ...run, owner_id: owner.id }))[0]?.version;
  const retry = crypto.randomUUID();
  expect(await version({ id: retry })).toBe('2.0.0');
  expect(await version({ id: retry, retry_of: before })).toBe('1.0.0');
});

test('the figures of versions count calls, faults, latency and cost of the last hours', async () => {
  const id = await agentWith({ publish: ['1.0.0', '2.0.0'] });
  const run = await insertRun(t.orm, { owner: owner.id });
  const em = t.orm.em.fork();
  const call = (visit: number, version: string, status: string, ms: number, hoursAgo = 0) =>
    em.execute(
      `insert into run_task (run_id, reference, visit, seq, name, type, status, started_at, finished_at,
                             agent_id, agent_version)
       select ?, '/do/0/ask', ?, ?, 'ask', 'agent', ?, at, at + ? * interval '1 millisecond', ?, ?
         from (select now() - ? * interval '1 hour' as at) began`,
      [run, visit, visit, status, ms, id, version, hoursAgo],
    );
  await call(1, '1.0.0', 'completed', 100);
  await call(2, '1.0.0', 'completed', 300);
  await call(3, '1.0.0', 'faulted', 9_000);
  await call(4, '2.0.0', 'completed', 50);
  await call(5, '2.0.0', 'completed', 50, 30);
  await em.execute(
    `insert into usage_record (id, run_id, user_id, agent_id, agent_version, usage, input_tokens,
                               output_tokens, cost_usd)
     values (gen_random_uuid(), ?, ?, ?, '1.0.0', '{}', 10, 5, 0.25)`,
    [run, owner.id, id],
  );
  const { body } = await builder.get(`/agents/${id}/stats`);
  const none = { cost_usd: 0, input_tokens: 0, output_tokens: 0 };
  expect(body).toEqual({
    canary: null,
    versions: [
      {
        version: '1.0.0',
        calls: 3,
        faults: 1,
        latency_p50_ms: 100,
        latency_p95_ms: 300,
        cost_usd: 0.25,
        input_tokens: 10,
        output_tokens: 5,
      },
      { version: '2.0.0', calls: 1, faults: 0, latency_p50_ms: 50, latency_p95_ms: 50, ...none },
    ],
  });
  expect((await builder.get(`/agents/${id}/stats?hours=48`)).body.versions[1].calls).toBe(2);
});
