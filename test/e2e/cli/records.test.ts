/** Workflows, agents, secrets, files and the rest by the command line: real processes on the real API. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { cliAs, type CliUser, cliUser } from '../../support/cli.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { until } from '../../support/platform.ts';

const folder = mkdtempSync(join(tmpdir(), 'cadenza-files-'));
const file = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
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

const GOOD = `document: { dsl: 1.0.3, namespace: default, name: greet, version: 1.0.0 }
do:
  - hello:
      set: { text: hello }
`;

test('validate works without a server, with the words of the server', async () => {
  const offline = cliUser({ CADENZA_URL: 'http://127.0.0.1:2' });
  const unknown = GOOD.replace('set: { text: hello }', 'call: agent\n      with: { agent: nobody-knows }');
  const here = await cli.run(['workflow', 'validate', file('unknown.yaml', unknown)]);
  const there = await cli.run(['workflow', 'validate', '--server', file('unknown.yaml', unknown)]);
  expect([here.exitCode, there.exitCode, there.json()[0].code]).toEqual([0, 3, 'unknown_agent']);
  const [good, bad, unreadable] = await Promise.all([
    offline.run(['workflow', 'validate', file('good.yaml', GOOD)]),
    offline.run(['workflow', 'validate', file('bad.yaml', 'do:\n  - a: { sett: 1 }\n'), '-o', 'json']),
    offline.run(['workflow', 'validate', file('broken.yaml', 'do: [')]),
  ]);
  expect([good.exitCode, good.json()]).toEqual([0, []]);
  const definition = { do: [{ a: { sett: 1 } }] };
  const { body } = await builder.post('/workflows/validate', { definition });
  expect(bad.exitCode).toBe(3);
  expect(bad.json()).toEqual(
    body.problems.map((one: object) => ({
      file: join(folder, 'bad.yaml'),
      ...one,
      // The server has not seen the file.
      line: 2,
      column: 10,
    })),
  );
  expect([unreadable.exitCode, unreadable.stderr]).toEqual([1, expect.stringContaining('broken.yaml')]);
  const source = GOOD.replace('do:', 'schedule: { every: { hours: 1 }, cron: "0 0 * * *" }\ndo:');
  const unsupported = await offline.run(['workflow', 'validate', file('unsupported.yaml', source)]);
  expect([unsupported.exitCode, unsupported.json().map(({ severity }: any) => severity)]).toEqual([
    3,
    ['unsupported'],
  ]);
  expect(unsupported.stderr).toBe('Valid, but it cannot run: 1 unsupported.\n');
});

test('limits are shown with what is used, and admins give a user other ones', async () => {
  const { username } = await app.user('builder');
  const limit = ['--limit', 'files=12345', '--limit', 'secrets=7'];
  const set = await admin.run(['quota', 'set', '--user', username, ...limit]);
  expect([set.exitCode, set.json()]).toEqual([0, { files: 12_345, secrets: 7 }]);
  const back = await admin.run(['quota', 'set', '--user', username, '--limit', 'secrets=default']);
  expect(back.json()).toEqual({ files: 12_345 });
  const [mine, platform, wrong] = [
    await cli.run(['quota', 'list', '-o', 'table']),
    await admin.run(['quota', 'list', '--platform']),
    await cli.run(['quota', 'set', '--user', username, '--limit', 'files:1']),
  ];
  expect(mine.stdout).toMatch(/files +0 +12345 +its own, instead of USER_MAX_FILES/);
  expect(platform.json().map(({ scope }: { scope: string }) => scope)).toContain('platform');
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('files=100')]);
  expect((await admin.run(['quota', 'set', '--user', username, '--limit', 'files=default'])).exitCode).toBe(
    0,
  );
});

test('a schedule is shown, paused with a note, changed, resumed and started by hand', async () => {
  const schedule = { after: 'PT1H' };
  const definition = { schedule, do: [{ a: { set: { done: true } } }] };
  const { body } = await builder.post('/workflows', { name: 'clockwork', definition });
  const paused = await cli.run(['schedule', 'pause', 'clockwork', '--note', 'Month end', '-o', 'table']);
  expect([paused.exitCode, paused.stdout]).toEqual([0, expect.stringContaining('3600 s after the last run')]);
  expect(paused.stdout).toContain('Month end');
  const changes = ['--overlap', 'allow', '--catch-up', '10m', '--jitter', '5'];
  const [changed, nothing, late] = [
    await cli.run(['schedule', 'set', body.id, ...changes]),
    await cli.run(['schedule', 'set', body.id]),
    await cli.run(['schedule', 'backfill', body.id, '--from', '2026-01-01T00:00:00Z', '--yes']),
  ];
  expect(changed.json()).toMatchObject({ overlap: 'allow', catch_up_seconds: 600, jitter_seconds: 5 });
  expect([nothing.exitCode, nothing.stderr]).toEqual([2, expect.stringContaining('--overlap')]);
  expect([late.exitCode, late.stderr]).toEqual([expect.any(Number), expect.stringContaining('"after"')]);
  expect(late.exitCode).not.toBe(0);
  const resumed = await cli.run(['schedule', 'resume', 'clockwork']);
  expect(resumed.json()).toMatchObject({ state: 'active', note: null });
  const started = await cli.run(['schedule', 'trigger', 'clockwork']);
  const shown = await cli.run(['schedule', 'get', 'clockwork']);
  expect(shown.json().last).toMatchObject([
    { cause: 'trigger', outcome: 'started', run_id: started.json().id },
  ]);
  expect((await builder.delete(`/workflows/${body.id}`)).status).toBe(204);
});

test('a workflow is created, edited in $EDITOR, compared, drawn and deleted', async () => {
  const created = await cli.run(['workflow', 'create', file('greet.yaml', GOOD), '--tag', 'demo']);
  expect([created.exitCode, created.json()]).toMatchObject([
    0,
    { name: 'greet', valid: true, tags: ['demo'] },
  ]);
  const editor = file('editor.sh', '#!/bin/sh\nsed -i s/hello/goodbye/g "$1"\n');
  chmodSync(editor, 0o755);
  const env = { EDITOR: editor };
  const edited = await cli.run(['workflow', 'edit', 'greet'], { env });
  expect([edited.exitCode, edited.json().revision]).toEqual([0, 2]);
  const same = await cli.run(['workflow', 'edit', 'greet'], { env });
  expect([same.exitCode, same.stderr]).toEqual([1, expect.stringContaining('Nothing was changed')]);

  const [listed, definition, difference, equal, mermaid, svg, revisions] = await Promise.all([
    cli.run(['workflow', 'list', '-o', 'name']),
    cli.run(['workflow', 'get', 'greet', '--definition', '-o', 'yaml']),
    cli.run(['workflow', 'diff', 'greet', '1']),
    cli.run(['workflow', 'diff', 'greet', '1', '1']),
    cli.run(['workflow', 'diagram', 'greet']),
    cli.run(['workflow', 'diagram', 'greet', '--svg']),
    cli.run(['workflow', 'revisions', 'greet', '--jq', 'map(.revision) | tostring']),
  ]);
  expect(listed.stdout.trim()).toBe(created.json().id);
  expect(definition.stdout).toContain('text: goodbye');
  expect(difference.exitCode).toBe(3);
  expect(difference.stdout).toMatch(/^- +text: hello$/m);
  expect(difference.stdout).toMatch(/^\+ +text: goodbye$/m);
  expect([equal.exitCode, equal.stdout]).toEqual([0, '']);
  expect(mermaid.stdout).toMatch(/^flowchart/m);
  expect(svg.stdout).toContain('<svg');
  expect(revisions.stdout).toBe('[2,1]\n');
  // Without a terminal nothing is deleted by accident.
  expect((await cli.run(['workflow', 'delete', 'greet'])).exitCode).toBe(2);
  expect((await cli.run(['workflow', 'delete', 'greet', '--yes'])).exitCode).toBe(0);
  expect((await cli.run(['workflow', 'get', 'greet'])).exitCode).toBe(1);
});

test('a workflow is made for a team, and its runners are given and taken away', async () => {
  const [{ id, username }, runner] = await Promise.all([app.user('builder'), app.user('viewer')]);
  await admin.run(['team', 'create', 'starters', '--admin', username]);
  const path = file('granted.yaml', GOOD.replace('name: greet', 'name: granted'));
  const created = await cli.run(['workflow', 'create', path, '--team', 'starters']);
  const [team] = (await builder.get('/teams?q=starters')).body;
  expect([created.exitCode, created.json()]).toMatchObject([0, { name: 'granted', team_id: team.id }]);
  const elsewhere = await cli.run(['workflow', 'create', path, '--team', 'nobodys']);
  expect([elsewhere.exitCode, elsewhere.stderr]).toEqual([1, expect.stringContaining('no team nobodys')]);

  const update = ['workflow', 'update', 'granted'];
  const NOBODY = /^(?:warning at \/runners\/groups\/0: nobody is in the group "\w+" .*\n)?$/;
  const runnersAfter = async (...flags: string[]) => {
    const { exitCode, stderr, json } = await cli.run([...update, ...flags]);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(NOBODY);
    const { runners, revision } = json();
    return [runners, revision];
  };
  const all = ['--runner-user', runner.username, '--runner-user', username, '--runner-group', 'clerks'];
  expect(await runnersAfter(...all, '--runner-everyone')).toEqual([
    { users: [runner.id, id], groups: ['clerks'], everyone: true },
    1,
  ]);
  // Users that are given replace those before, and nothing else.
  const changed = file('changed.yaml', GOOD.replace('name: greet', 'name: granted').replace('hello', 'hi'));
  expect(await runnersAfter(changed, '--runner-user', runner.id)).toEqual([
    { users: [runner.id], groups: ['clerks'], everyone: true },
    2,
  ]);
  expect(await runnersAfter('--no-runners', '--runner-group', 'auditors')).toEqual([
    { users: [], groups: ['auditors'], everyone: false },
    2,
  ]);
  expect(await runnersAfter('--no-runners')).toEqual([{ users: [], groups: [], everyone: false }, 2]);
  const [nothing, unknown] = [
    await cli.run(update),
    await cli.run([...update, '--runner-user', 'nobody-of-that-name', '-o', 'json']),
  ];
  expect([nothing.exitCode, nothing.stderr]).toEqual([2, expect.stringContaining('Give a FILE or a flag')]);
  expect(JSON.parse(unknown.stderr).errors).toMatchObject([{ pointer: '/runners/users/0' }]);
  expect((await cli.run(['workflow', 'delete', 'granted', '--yes'])).exitCode).toBe(0);
});

test('a chat is told of a team or a workflow, which are named', async () => {
  const { username } = await app.user('builder');
  await admin.run(['team', 'create', 'chatters', '--admin', username]);
  const [team] = (await builder.get('/teams?q=chatters')).body;
  const definition = { do: [{ a: { set: { b: 1 } } }] };
  const workflow = (await builder.post('/workflows', { name: 'chatty', definition })).body.id;
  const add = (name: string, ...of: string[]) =>
    cli.run(['notification', 'add-chat', name, 'slack', ...of], { stdin: 'https://hooks.example.com/a\n' });
  const [ofTeam, ofWorkflow, both] = [
    await add('ours', '--team', 'chatters'),
    await add('its', '--workflow', 'chatty'),
    await add('both', '--team', 'chatters', '--workflow', 'chatty'),
  ];
  expect(ofTeam.json()).toMatchObject({ name: 'ours', team_id: team.id, workflow_id: null });
  expect(ofWorkflow.json()).toMatchObject({ name: 'its', team_id: null, workflow_id: workflow });
  expect([both.exitCode, both.stderr]).toEqual([1, expect.stringContaining('at most one of group')]);
  const listed = await cli.run(['notification', 'chats', '-o', 'table']);
  expect(listed.stdout).toMatch(new RegExp(`ours +slack +${team.id}`));
  for (const chat of [ofTeam, ofWorkflow])
    expect((await cli.run(['notification', 'remove-chat', chat.json().id, '--yes'])).exitCode).toBe(0);
  expect((await builder.delete(`/workflows/${workflow}`)).status).toBe(204);
});

test('a file of YAML comes back as it was written, and its problems have lines', async () => {
  const text = `# Why we greet.\n${GOOD.replace('name: greet', 'name: as-written')}`;
  const path = file('as-written.yaml', text);
  expect((await cli.run(['workflow', 'create', path])).exitCode).toBe(0);
  const commented = text.replace('hello:', 'hello: # first');
  const update = ['workflow', 'update', 'as-written', file('commented.yaml', commented)];
  expect((await cli.run([...update, '--jq', '.revision'])).stdout).toBe('2\n');
  const [now, before, wrong, duplicate] = await Promise.all([
    cli.run(['workflow', 'export', 'as-written']),
    cli.run(['workflow', 'export', 'as-written', '--revision', '1']),
    cli.run(['workflow', 'validate', file('sett.yaml', text.replace('set:', 'sett:')), '-o', 'table']),
    cli.run(['workflow', 'validate', file('twice.yaml', `${text}do: []\n`)]),
  ]);
  expect([now.stdout, before.stdout]).toEqual([commented, text]);
  expect([wrong.exitCode, wrong.stdout]).toEqual([
    3,
    expect.stringContaining('sett.yaml:5:7: error at /do/0'),
  ]);
  expect([duplicate.exitCode, duplicate.stderr]).toEqual([
    1,
    expect.stringMatching(/twice\.yaml:6:1: "do" is there already/),
  ]);

  const set = mkdtempSync(join(folder, 'texts-'));
  mkdirSync(join(set, 'workflows'));
  const inSet = text.replace('as-written', 'in-set');
  writeFileSync(join(set, 'workflows/one.yaml'), inSet);
  const out = join(folder, 'exported');
  expect((await cli.run(['apply', '-f', set, '--set', 'texts'])).exitCode).toBe(0);
  expect((await cli.run(['export', out, '--set', 'texts'])).exitCode).toBe(0);
  expect(readFileSync(join(out, 'workflows/in-set.yaml'), 'utf8')).toBe(inSet);
  expect((await cli.run(['workflow', 'schema', '--jq', '.required'])).stdout).toBe('["do"]\n');
});

test('an agent is registered and published, and what the server refuses is told by field', async () => {
  const agent = 'name: writer\ntype: api\nversion: 1.0.0\nvisibility: private\nconfiguration:\n';
  const path = file('agent.yaml', `${agent}  endpoint: https://example.com/write\n`);
  expect((await cli.run(['agent', 'create', path, '--jq', '.name'])).stdout).toBe('writer\n');
  const published = await cli.run(['agent', 'publish', 'writer', '1.0.0']);
  expect(published.json()).toMatchObject({ version: '1.0.0', status: 'published' });
  const [none, again, listed, card, versions, wrong] = await Promise.all([
    cli.run(['agent', 'list', '--search', 'nothing of that', '-o', 'table']),
    cli.run(['agent', 'publish', 'writer', '1.0.0']),
    cli.run(['agent', 'list', '-o', 'table']),
    cli.run(['agent', 'card', 'writer', '--jq', '.name']),
    cli.run(['agent', 'versions', 'writer', '-o', 'name']),
    cli.run(['agent', 'create', file('wrong.yaml', 'name: x\n'), '-o', 'json']),
  ]);
  expect([again.exitCode, none.stderr]).toEqual([5, 'None matches.\n']);
  expect(listed.stdout).toMatch(/^ID +NAME +TYPE .*\n\S+ +writer /);
  expect([card.stdout, versions.stdout]).toEqual(['writer\n', '1.0.0\n']);
  expect(JSON.parse(wrong.stderr).errors.map((error: any) => error.pointer)).toContain('/type');
});

test('an agent is changed, drafted, taught and deleted', async () => {
  const fields = 'type: api\nversion: 1.0.0\nvisibility: private\nconfiguration: { endpoint: nowhere }\n';
  const created = await cli.run(['agent', 'create', file('editor.yaml', `name: editor\n${fields}`)]);
  expect([created.exitCode, created.stderr]).toEqual([0, expect.stringContaining('no http or https URL')]);
  await cli.run(['agent', 'publish', 'editor', '1.0.0']);
  const better = file('better.yaml', 'configuration: { endpoint: "https://example.com/edit" }\n');
  const [changed, immutable] = [
    await cli.run(['agent', 'update', 'editor', '--description', 'Edits', '--tag', 'text']),
    await cli.run(['agent', 'update', 'editor', better]),
  ];
  expect(changed.json()).toMatchObject({ description: 'Edits', tags: ['text'], version: '1.0.0' });
  expect([immutable.exitCode, (await cli.run(['agent', 'update', 'editor'])).exitCode]).toEqual([5, 2]);
  const drafted = [
    await cli.run(['agent', 'draft', 'editor', '1.1.0', better]),
    await cli.run(['agent', 'draft', 'editor', '1.1.0', '--changelog', 'A real address']),
  ];
  expect(drafted.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  expect((await cli.run(['agent', 'version', 'editor', '1.1.0'])).json()).toMatchObject({
    status: 'draft',
    configuration: { endpoint: 'https://example.com/edit' },
    changelog: 'A real address',
  });
  await cli.run(['agent', 'set-skill', 'editor', 'shorten', '--tag', 'text']);
  await cli.run(['agent', 'set-skill', 'editor', 'shorten', '--description', 'Makes it short']);
  expect((await cli.run(['agent', 'skills', 'editor'])).json()).toMatchObject([
    { name: 'shorten', description: 'Makes it short', tags: ['text'] },
  ]);
  expect((await cli.run(['agent', 'delete-skill', 'editor', 'shorten', '--yes'])).exitCode).toBe(0);
  expect((await cli.run(['agent', 'delete', 'editor'])).exitCode).toBe(2);
  expect((await cli.run(['agent', 'delete', 'editor', '--yes'])).exitCode).toBe(0);
  expect((await cli.run(['agent', 'get', 'editor'])).exitCode).toBe(1);
});

test('lists are bounded, say that there is more, and --all has everything', async () => {
  await Promise.all(Array.from({ length: 6 }, (_, n) => builder.put(`/secrets/KEY_${n}`, { value: 'v' })));
  const [first, all] = await Promise.all([
    cli.run(['secret', 'list', '--limit', '4', '-o', 'name']),
    cli.run(['secret', 'list', '--all', '-o', 'jsonl']),
  ]);
  expect(first.stdout.trim().split('\n')).toHaveLength(4);
  expect(first.stderr).toContain('--all');
  expect(all.stdout.trim().split('\n')).toHaveLength(6);
  expect(all.stderr).toBe('');
});

test('a secret comes from standard input, and is in no output', async () => {
  const set = await cli.run(['secret', 'set', 'API_KEY', '--stdin'], { stdin: 'very-secret\n' });
  expect(set.json()).toMatchObject({ name: 'API_KEY' });
  expect(set.stdout + set.stderr).not.toContain('very-secret');
  expect((await cli.run(['secret', 'set', 'OTHER'])).exitCode).toBe(2);
  expect((await cli.run(['secret', 'delete', 'API_KEY', '--yes'])).exitCode).toBe(0);
  expect((await builder.get('/secrets/API_KEY')).status).toBe(404);
});

test('a file goes up and comes back the same, and replaces nothing by itself', async () => {
  const content = `bytes ${'ü'.repeat(1_000)}`;
  const uploaded = await cli.run(['file', 'upload', file('data.bin', content), '-o', 'name']);
  const id = uploaded.stdout.trim();
  const cwd = mkdtempSync(join(folder, 'down-'));
  expect((await cli.run(['file', 'download', id], { cwd })).exitCode).toBe(0);
  expect(readFileSync(join(cwd, 'data.bin'), 'utf8')).toBe(content);
  const again = await cli.run(['file', 'download', id], { cwd });
  expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('EEXIST')]);
  expect((await cli.run(['file', 'download', id, '--to', '-'])).stdout).toBe(content);
  // A hostile name stays in this folder.
  await builder.patch(`/files/${id}`, { name: '../escaped.bin' });
  await cli.run(['file', 'download', id], { cwd });
  expect(existsSync(join(folder, 'escaped.bin'))).toBe(false);
  const renamed = await cli.run(['file', 'update', id, '--name', 'better.bin', '--jq', '.name']);
  const link = await cli.run(['file', 'link', id, '--expires', '1h', '-o', 'name']);
  expect([renamed.stdout, (await fetch(link.stdout.trim())).status]).toEqual(['better.bin\n', 200]);
  expect((await cli.run(['file', 'delete', id, '--yes'])).exitCode).toBe(0);
  expect((await cli.run(['file', 'get', id])).stderr).toContain(id);
});

test('webhooks, users, machine clients, marketplace', async () => {
  const hook = await cli.run(['webhook', 'create', 'https://example.com/hook', '--types', 'io.cadenza.hitl']);
  expect(hook.json()).toMatchObject({ types: ['io.cadenza.hitl'], secret: expect.stringMatching(/^whsec_/) });
  const [hooks, user, refused, clients, market] = await Promise.all([
    cli.run(['webhook', 'list', '-o', 'name']),
    admin.run(
      ['user', 'create', 'grace', '--email', 'grace@example.com', '--role', 'approver', '--password-stdin'],
      { stdin: 'correct horse battery staple' },
    ),
    cli.run(['user', 'list']),
    cli.run(['client', 'list']),
    cli.run(['market', 'search']),
  ]);
  expect(hooks.stdout.trim()).toBe(hook.json().id);
  expect(user.json()).toMatchObject({ username: 'grace', roles: ['approver'] });
  expect(refused.exitCode).toBe(1);
  expect([clients.json(), market.json()]).toEqual([[], []]);
  const changed = await admin.run([
    'user',
    'update',
    'grace',
    '--role',
    'viewer',
    '--role',
    'approver',
    '--name',
    'Grace H.',
  ]);
  expect(changed.json()).toMatchObject({ display_name: 'Grace H.', roles: ['viewer', 'approver'] });
  expect((await admin.run(['user', 'clients', 'grace'])).json()).toEqual([]);
  const { id: heir } = await app.user('builder');
  const moved = await admin.run(['user', 'transfer', 'grace', heir, '--yes']);
  expect([moved.exitCode, moved.stderr]).toEqual([0, '']);
  expect((await admin.run(['user', 'disable', 'grace', '--jq', '.status'])).stdout).toBe('disabled\n');
  expect((await cli.run(['webhook', 'delete', hook.json().id, '--yes'])).exitCode).toBe(0);
});

test('the audit log is listed and exported in any form, and verified with or without seals', async () => {
  const [listed, filtered, exported, verified] = await Promise.all([
    admin.run(['audit', 'list', '--limit', '2', '--jq', 'length']),
    admin.run(['audit', 'list', '--outcome', 'done', '-o', 'jsonl', '-q', '--no-color', '--limit', '1']),
    admin.run(['audit', 'export', '--format', 'csv', '-o', 'json', '-q', '--no-color']),
    admin.run(['audit', 'verify', '--jq', '.ok']),
  ]);
  expect([listed.exitCode, listed.stdout]).toEqual([0, '2\n']);
  expect([filtered.stderr, filtered.json()]).toMatchObject(['', { outcome: 'done' }]);
  expect([exported.exitCode, exported.stdout]).toEqual([0, expect.stringMatching(/^[\w,]+\r?\n/)]);
  expect([verified.exitCode, verified.stdout]).toEqual([0, 'true\n']);
  // Exactly what the server sends, without another line.
  const usage = await admin.run(['usage', '--csv', '--by', 'day']);
  expect([usage.exitCode, usage.stdout]).toEqual([
    0,
    expect.stringMatching(/^key,name,.*cost_usd\r\n([^\n]+\r\n)*$/),
  ]);
  const head = (no: number): string => `${no}:${'0'.repeat(64)}`;
  const noted = await admin.run(['audit', 'verify', '--head', head(7_001), '--head', head(7_002)]);
  expect([noted.exitCode, noted.json()]).toMatchObject([3, { ok: false }]);
  const seals = noted.json().problems.map(({ seal }: { seal: string }) => seal);
  expect(seals).toEqual(['7001', '7002']);
});

test('what moves to a team is printed, and a flag without effect is refused at once', async () => {
  expect((await admin.run(['team', 'create', 'movers'])).exitCode).toBe(0);
  const { username } = await app.user('builder');
  await admin.run(['team', 'add', 'movers', username, '--role', 'admin']);
  const { body } = await builder.post('/workflows', { name: 'mover', definition: { do: [] } });
  const moved = await cli.run(['team', 'move', 'workflow', 'mover', 'movers', '--jq', '.id']);
  expect([moved.stdout, moved.stderr]).toEqual([`${body.id}\n`, expect.stringContaining('of team movers')]);
  const back = await cli.run(['team', 'move', 'workflow', 'mover']);
  expect(back.json()).toMatchObject({ id: body.id, team_id: null });
  const given = await admin.run(['team', 'move', 'workflow', body.id, '--owner', username, '--jq', '.id']);
  expect([given.exitCode, given.stderr]).toEqual([0, expect.stringContaining(`${username}'s now`)]);
  const both = await admin.run(['team', 'move', 'workflow', body.id, 'movers', '--owner', username]);
  expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining('TEAM or --owner')]);
  const receivers = [
    ['webhook', '/webhooks', { url: 'https://mover.example.com' }],
    ['event-source', '/event-sources', { source: '/mover' }],
  ] as const;
  for (const [kind, path, fields] of receivers) {
    const { id } = (await builder.post(path, fields)).body;
    const given = await cli.run(['team', 'move', kind, id, 'movers', '--jq', '.team_id != null']);
    expect([given.exitCode, given.stdout]).toEqual([0, 'true\n']);
    const person = await admin.run(['team', 'move', kind, id, '--owner', username, '--jq', '.team_id']);
    expect([person.exitCode, person.stdout, person.stderr]).toEqual([
      0,
      'null\n',
      expect.stringContaining(`The ${kind} is ${username}'s now.`),
    ]);
    expect((await builder.delete(`${path}/${id}`)).status).toBe(204);
  }
  const refused = await cli.run(['workflow', 'delete', 'mover', '--yes', '--jq', '.id']);
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('--jq has no effect')]);
  expect((await builder.delete(`/workflows/${body.id}`)).status).toBe(204);
});

test('a group gives a role in a team, which its members show', async () => {
  const { id } = await app.createUser({ username: 'grouped', roles: ['viewer'] });
  const asAdmin = await app.as('admin');
  expect((await asAdmin.patch(`/users/${id}`, { groups: ['eu/finance'] })).status).toBe(200);
  await admin.run(['team', 'create', 'groupers']);
  const added = await admin.run(['team', 'add-group', 'groupers', 'eu/finance', '--role', 'builder']);
  expect([added.exitCode, added.json()]).toMatchObject([0, { group: 'eu/finance', role: 'builder' }]);
  const shown = async (...words: string[]): Promise<string> =>
    (await admin.run(['team', ...words, 'groupers', '-o', 'table'])).stdout;
  const listed = await shown('groups');
  expect(listed).toMatch(/eu\/finance +builder/);
  expect(listed).not.toContain('people still get the role');
  const em = app.orm.em.fork();
  await em.execute("insert into group_to_follow (group_name, after_id) values ('eu/finance', ?)", [id]);
  expect(await shown('groups')).toMatch(/eu\/finance +builder .*people still get the role/);
  await em.execute('delete from group_to_follow');
  expect(await shown('members')).toMatch(/grouped +builder +eu\/finance: builder/);
  const refused = await admin.run(['team', 'remove', 'groupers', 'grouped', '--yes']);
  expect([refused.exitCode, refused.stderr]).toEqual([5, expect.stringContaining('eu/finance')]);
  const unknown = await admin.run(['team', 'add-group', 'groupers', 'nobody:finance']);
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('no issuer')]);
  const removed = await admin.run(['team', 'remove-group', 'groupers', 'eu/finance', '--yes']);
  expect([removed.exitCode, removed.stderr]).toEqual([0, expect.stringContaining('Removed the group')]);
  expect(await shown('members')).not.toContain('grouped');
});

test('a user gets a display name when created', async () => {
  const named = ['--email', 'hopper@example.com', '--name', 'Grace H.', '--role', 'viewer'];
  const created = await admin.run(['user', 'create', 'hopper', ...named, '--password-stdin'], {
    stdin: 'correct horse battery staple',
  });
  expect([created.exitCode, created.stderr]).toEqual([0, expect.any(String)]);
  expect(created.json()).toMatchObject({ username: 'hopper', display_name: 'Grace H.' });
});

test('events prints what happens until it is interrupted', async () => {
  const created = await builder.post('/workflows', {
    name: 'Tail',
    definition: { do: [{ a: { set: { n: 1 } } }] },
  });
  const tail = cli.start(['events']);
  // The stream begins with events after it was opened, which nobody outside can see.
  await until(
    async () => {
      expect((await builder.post(`/workflows/${created.body.id}/run`)).status).toBe(201);
      await sleep(1_000);
      return tail.stdout();
    },
    (text) => text.includes('\n'),
  );
  tail.child.kill('SIGINT');
  const { exitCode, stdout } = await tail.done;
  expect(exitCode).toBe(130);
  expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({
    specversion: '1.0',
    type: expect.any(String),
  });
});

test('events ends with the session of its user', async () => {
  const leaving = await app.createUser({ username: 'leaving', roles: ['builder'] });
  const them = await app.as(leaving);
  const definition = { do: [{ a: { set: { n: 1 } } }] };
  const { body } = await them.post('/workflows', { name: 'Leaving', definition });
  const tail = cliUser({ CADENZA_URL: app.url, CADENZA_TOKEN: leaving.token }).start(['events']);
  await until(
    async () => {
      expect((await them.post(`/workflows/${body.id}/run`)).status).toBe(201);
      await sleep(1_000);
      return tail.stdout();
    },
    (text) => text.includes('\n'),
  );
  expect((await admin.run(['user', 'disable', 'leaving'])).exitCode).toBe(0);
  const { exitCode, stderr } = await tail.done;
  expect([exitCode, stderr]).toEqual([
    4,
    expect.stringMatching(/error: Your session has ended\.\nIt is the token in CADENZA_TOKEN/),
  ]);
});

test('a folder is applied once, then unchanged; its export changes nothing; prune asks first', async () => {
  const set = mkdtempSync(join(folder, 'set-'));
  const put = (path: string, content: string): void => {
    mkdirSync(dirname(join(set, path)), { recursive: true });
    writeFileSync(join(set, path), content);
  };
  const { username } = await app.user('viewer');
  const settings =
    'set: demo\nworkflows:\n' +
    `  score-it: { tags: [money], budget: { max_tokens: 9 }, runners: { users: [${username}] } }\n` +
    '  unnamed: { tags: [plain] }\n';
  put('cadenza.yaml', settings);
  put('workflows/unnamed.yaml', 'do:\n  - a: { set: { b: 1 } }\n');
  put(
    'agents/scorer.yaml',
    'type: api\nversion: 1.0.0\nvisibility: private\nconfiguration: { endpoint: "https://example.com/s" }\n',
  );
  await builder.put('/secrets/CALLS', { value: 'a key of at least sixteen bytes' });
  put('hooks/issues.yaml', 'scheme: github\nsecret: CALLS\nevent_type: issue\n');
  put('event-sources/till.yaml', 'source: urn:till\ndescription: The till\n');
  const score =
    'document: { dsl: 1.0.3, namespace: default, name: score-it, version: 1.0.0 }\n' +
    'do:\n  - score: { call: agent, with: { agent: scorer } }\n';
  put('workflows/score.yaml', score);
  const actions = ({ json }: { json(): any }): string[] =>
    json().map((item: any) => `${item.name}: ${item.action}`);
  const diff = await cli.run(['diff', '-f', set]);
  const names = ['scorer', 'score-it', 'unnamed', 'issues', 'urn:till'];
  const created = names.map((name) => `${name}: create`);
  expect([diff.exitCode, actions(diff)]).toEqual([3, created]);
  const first = await cli.run(['apply', '-f', set]);
  expect([first.exitCode, actions(first)]).toEqual([0, created]);
  const again = await cli.run(['apply', '-f', set, '-o', 'table']);
  expect([again.exitCode, again.stdout.match(/unchanged/g)?.length]).toEqual([0, 5]);

  const copy = join(folder, 'copy');
  expect((await cli.run(['export', copy, '--set', 'demo'])).exitCode).toBe(0);
  const exported = await cli.run(['diff', '-f', copy]);
  expect([exported.exitCode, actions(exported)]).toEqual([
    0,
    created.map((line) => line.replace('create', 'unchanged')),
  ]);

  // What somebody has deleted is left out.
  const hook = (await builder.get('/hooks')).body.find(({ name }: { name: string }) => name === 'issues');
  expect((await builder.delete(`/hooks/${hook.id}`)).status).toBe(204);
  const without = await cli.run(['export', join(folder, 'without'), '--set', 'demo', '-o', 'name']);
  expect([without.exitCode, without.stdout.includes('issues'), without.stderr]).toEqual([
    0,
    false,
    expect.stringContaining('Left out the hook issues'),
  ]);
  expect((await cli.run(['apply', '-f', set])).exitCode).toBe(0);

  put('workflows/score.yaml', 'do:\n  - a: { sett: 1 }\n');
  put('agents/wrong.yaml', 'type: nonsense\nversion: 1.0.0\nvisibility: private\n');
  const offline = await cli.run(['apply', '-f', set, '-o', 'json']);
  expect([offline.exitCode, JSON.parse(offline.stderr).errors[0].pointer]).toEqual([
    1,
    expect.stringContaining('workflows/score.yaml:2:10#/do/0/a'),
  ]);
  put('workflows/score.yaml', score);
  const refused = await cli.run(['apply', '-f', set, '-o', 'json']);
  expect([refused.exitCode, JSON.parse(refused.stderr).errors[0].pointer]).toEqual([
    1,
    expect.stringContaining('agents/wrong.yaml:1:1#/type'),
  ]);
  // What the server refuses is told by the file, and in cadenza.yaml where that says it.
  put('agents/wrong.yaml', 'type: api\nversion: 1.0.0\nconfigurations: {}\nvisibility: private\n');
  const unknown = await cli.run(['apply', '-f', set]);
  expect([unknown.exitCode, unknown.stderr]).toEqual([
    1,
    expect.stringMatching(/^error: Nothing was applied.*\n  .*agents\/wrong\.yaml:3:1#\/configurations: /),
  ]);
  // Neither the file nor cadenza.yaml says it.
  put('agents/wrong.yaml', 'type: api\nversion: 1.0.0\nconfiguration: { endpoint: "https://example.com" }\n');
  expect((await cli.run(['apply', '-f', set])).stderr).toMatch(
    /agents\/wrong\.yaml:1:1#\/visibility: is required, here or for all in cadenza\.yaml\n/,
  );
  const place = await cli.run(['diff', set]);
  expect([place.exitCode, place.stderr]).toEqual([
    2,
    expect.stringContaining(`A folder is given by -f: cadenza diff -f ${set}\n`),
  ]);
  rmSync(join(set, 'agents/wrong.yaml'));
  put('cadenza.yaml', settings.replace('[money]', '5'));
  expect((await cli.run(['apply', '-f', set])).stderr).toContain(
    'cadenza.yaml:3:15#/workflows/score-it/tags: ',
  );
  put('cadenza.yaml', 'set: demo\nworkflows:\n  unnamed: { tags: [plain] }\n');
  rmSync(join(set, 'workflows/score.yaml'));
  const [kept, unconfirmed] = [
    await cli.run(['apply', '-f', set]),
    await cli.run(['apply', '-f', set, '--prune']),
  ];
  expect(actions(kept)).toContain('score-it: keep');
  expect(unconfirmed.exitCode).toBe(2);
  const pruned = await cli.run(['apply', '-f', set, '--prune', '--yes']);
  expect([pruned.exitCode, actions(pruned).toSorted()]).toEqual([
    0,
    [
      'issues: unchanged',
      'score-it: archive',
      'scorer: unchanged',
      'unnamed: unchanged',
      'urn:till: unchanged',
    ],
  ]);
});

/** The fields of an issuer that a request may set. */
const ISSUER_FIELDS: string[] = Object.keys(
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8')).components.schemas
    .CreateIssuerRequest.properties,
);

test('an issuer gets each field of the API, keeps what is not given, and loses what is cleared', async () => {
  const plain = await admin.run(['issuer', 'add', 'plain', 'https://plain.example.com', '--client-id', 'c']);
  const all = [
    '--title Company --client-id cadenza --client-secret-stdin --scope openid',
    '--jwks-uri https://id.example.com/keys --role /realm/roles=a:b:admin --default-role viewer',
    '--groups-claim teams --username-claim upn --email-claim mail --display-name-claim called',
    '--second-factor acr=gold --creates-users no --external-id-claim oid',
    '--audience https://cadenza.example --token-type jwt --token-type none --disable',
  ].flatMap((flags) => flags.split(' '));
  const full = await admin.run(['issuer', 'add', 'full', 'https://full.example.com', ...all], {
    stdin: 'a secret\n',
  });
  expect([plain.exitCode, full.exitCode, full.stderr]).toEqual([0, 0, '']);
  expect(full.json()).toMatchObject({
    jwks_uri: 'https://id.example.com/keys',
    mapping: {
      username: 'upn',
      email: 'mail',
      display_name: 'called',
      groups: 'teams',
      roles: [{ claim: '/realm/roles', value: 'a:b', roles: ['admin'] }],
      default_roles: ['viewer'],
      second_factor: { claim: 'acr', value: 'gold' },
    },
    creates_users: false,
    external_id_claim: 'oid',
    audiences: ['https://cadenza.example'],
    token_types: ['jwt', 'none'],
    has_secret: true,
    enabled: false,
  });
  // A field that the commands cannot set has its default in both.
  const same = ISSUER_FIELDS.map((field) => (field === 'client_secret' ? 'has_secret' : field)).filter(
    (field) => JSON.stringify(plain.json()[field]) === JSON.stringify(full.json()[field]),
  );
  expect(same).toEqual([]);
  const mapping = Object.keys(full.json().mapping).filter(
    (member) => JSON.stringify(plain.json().mapping[member]) === JSON.stringify(full.json().mapping[member]),
  );
  expect(mapping).toEqual([]);

  const update = (...flags: string[]) =>
    admin.run(['issuer', 'update', 'full', ...flags.flatMap((some) => some.split(' '))]);
  const moved = await update('--issuer', 'https://new.example.com', '--creates-users', 'yes', '--enable');
  expect(moved.json()).toEqual({
    ...full.json(),
    issuer: 'https://new.example.com',
    creates_users: true,
    enabled: true,
    updated_at: expect.any(String),
  });
  const cleared = await update(
    '--public-client --jwks-uri none --groups-claim none --role none --default-role none',
    '--external-id-claim none --audience none',
  );
  expect(cleared.json()).toMatchObject({
    has_secret: false,
    jwks_uri: null,
    mapping: { groups: null, roles: [], default_roles: [], username: 'upn' },
    external_id_claim: null,
    audiences: [],
    token_types: ['jwt', 'none'],
  });
  const shown = await admin.run(['issuer', 'get', 'full', '-o', 'table']);
  expect(shown.stdout).toMatch(/^second factor +acr=gold$/m);
  const refused = await Promise.all([
    update('--token-type', 'jws'),
    update('--second-factor', 'gold'),
    update('--public-client', '--client-secret-stdin'),
    update(),
  ]);
  expect(refused.map(({ exitCode, stderr }) => [exitCode, stderr.split('\n')[0]])).toEqual([
    [2, expect.stringContaining('A --token-type is one of at+jwt, jwt, none.')],
    [2, expect.stringContaining('Write --second-factor CLAIM=VALUE')],
    [2, expect.stringContaining('Choose one of --client-secret-stdin and --public-client.')],
    [2, expect.stringContaining('Give a flag with what changes.')],
  ]);
});

test('a username counts in any case, and an admin enters the absence of somebody else by it', async () => {
  const away = await app.createUser({ username: 'Lovelace', roles: ['approver'] });
  const deputy = await app.createUser({ username: 'babbage', roles: ['approver'] });
  const day = new Date(Date.now() + 30 * 24 * 3_600_000).toISOString().slice(0, 10);
  const [absence, shown, unknown] = await Promise.all([
    admin.run(['absence', 'create', 'BABBAGE', day, '--user', 'lovelace']),
    admin.run(['user', 'get', 'LOVELACE']),
    admin.run(['absence', 'create', 'babbage', day, '--user', 'lovelac']),
  ]);
  expect(absence.json()).toMatchObject({ user: { id: away.id }, deputy: { id: deputy.id } });
  // The end of the day.
  const end = new Date(Date.parse(day) + 86_400_000).toISOString();
  expect([Date.parse(absence.json().until), absence.stderr]).toEqual([
    Date.parse(end),
    `${absence.json().deputy.display_name} decides until ${end.slice(0, 10)} 00:00 (UTC).\n`,
  ]);
  expect(shown.json().id).toBe(away.id);
  expect([unknown.exitCode, unknown.stderr]).toEqual([
    1,
    'error: There is no user lovelac that you can see, did you mean "Lovelace"?\n',
  ]);
});

test('the account of a program of an issuer is named by username or id', async () => {
  const { id, username } = await app.user('builder');
  const add = ['issuer', 'add', 'works', 'https://id.example.com', '--client-id', 'cadenza'];
  expect((await admin.run([...add, '--audience', 'cadenza'])).exitCode).toBe(0);
  const machine = (name: string, user: string) =>
    admin.run(['issuer', 'machine', 'works', name, '--claim', `azp=${name}`, '--user', user]);
  const [named, byId, unknown, role] = [
    await machine('one', username),
    await machine('two', id),
    await machine('three', 'nobody'),
    await admin.run([...add, '--default-role', 'boss']),
  ];
  expect([named, byId].map(({ json }) => json().user_id)).toEqual([id, id]);
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, 'error: There is no user nobody.\n']);
  expect([role.exitCode, role.stderr]).toEqual([2, expect.stringContaining('A role of --default-role')]);
});

test('many runs are acted on by ids or filters, after a question, each with its result', async () => {
  const { id: owner } = await app.user('builder');
  const insert = (count: number) =>
    Promise.all(Array.from({ length: count }, () => insertRun(app.orm, { owner })));
  const runs = await insert(12);
  const [first = '', second = '', ...others] = runs;
  const both = await cli.run(['run', 'cancel', first, second, '-o', 'json']);
  expect([both.exitCode, both.json().map(({ status }: any) => status)]).toEqual([0, [200, 200]]);
  const [mixed, unknown, unasked, none] = await Promise.all([
    cli.run(['run', 'resume', others[0] ?? '', others[1] ?? '']),
    cli.run(['run', 'suspend', first.replace(/^..../, '0000')]),
    cli.run(['run', 'suspend', ...runs]),
    cli.run(['run', 'cancel']),
  ]);
  expect([mixed.exitCode, mixed.stderr]).toEqual([5, '2 of 2 were refused.\n']);
  expect([unknown.exitCode, unknown.stderr]).toEqual([
    1,
    `error: There is no such run: ${first.replace(/^..../, '0000')}.\n`,
  ]);
  expect([unasked.exitCode, unasked.stderr]).toEqual([2, expect.stringContaining('Suspend 12 runs?')]);
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining('with filters')]);

  const filter = ['--owner', 'me', '--status', 'running,waiting,pending'];
  const asked = await cli.run(['run', 'cancel', ...filter]);
  expect([asked.exitCode, asked.stderr]).toEqual([2, expect.stringContaining('Confirm it with --yes')]);
  const found = (await cli.run(['run', 'list', ...filter, '--all', '-o', 'name'])).stdout.trim().split('\n');
  expect(found).toEqual(expect.arrayContaining(others));
  const cancelled = await cli.run(['run', 'cancel', ...filter, '--yes', '-o', 'name']);
  expect([cancelled.exitCode, cancelled.stdout.trim().split('\n').toSorted()]).toEqual([0, found.toSorted()]);
});

test('an unknown name is answered with the nearest, a wrong id with what it is of', async () => {
  await builder.post('/workflows', { name: 'onboarding', definition: { do: [{ a: { set: { b: 1 } } }] } });
  const [near, far, wrong] = await Promise.all([
    cli.run(['workflow', 'get', 'onbaording']),
    cli.run(['agent', 'get', 'nobody-knows-it']),
    cli.run(['run', 'watch', 'foo']),
  ]);
  expect(near.stderr).toBe(
    'error: There is no workflow onbaording that you can see, did you mean "onboarding"?\n',
  );
  expect(far.stderr).toBe('error: There is no agent nobody-knows-it that you can see.\n');
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    1,
    expect.stringMatching(/^error: There is no such run: id must be a UUID such as .*, but is "foo"\.\n$/),
  ]);
});

test('lists of runs and tasks are narrowed and ordered', async () => {
  const definition = { do: [{ only: { set: { done: true } } }] };
  const workflow = { name: 'tagged', definition, tags: ['narrowed'] };
  const { body } = await builder.post('/workflows', workflow);
  const run = (await builder.post(`/workflows/${body.id}/run`)).body.id;
  const runs = async (...flags: string[]) => {
    const { exitCode, json } = await cli.run(['run', 'list', '--tag', 'narrowed', ...flags]);
    expect(exitCode).toBe(0);
    return (json() as { id: string }[]).map(({ id }) => id);
  };
  expect(await runs()).toEqual([run]);
  expect(await runs('--owner', 'me', '--after', '2026-01-01T00:00:00Z')).toEqual([run]);
  expect(await runs('--before', '2026-01-01T00:00:00+01:00')).toEqual([]);
  const refused = await cli.run(['run', 'list', '--after', '10000-01-01T00:00:00Z']);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(/^error: --after /)]);
  const user = await app.user('builder');
  const candidates = { users: [user.id], roles: [], groups: [] };
  const asking = await insertRun(app.orm, { owner: user.id });
  const later = await insertTask(app.orm, asking, {
    candidates,
    priority: 90,
    due_at: '2027-02-01T00:00:00Z',
  });
  const sooner = await insertTask(app.orm, asking, { candidates, due_at: '2027-01-01T00:00:00Z' });
  await builder.post(`/hitl/tasks/${later}/claim`);
  const tasks = async (...command: string[]) =>
    ((await cli.run(command)).json() as { id: string }[]).map(({ id }) => id);
  expect(await tasks('inbox')).toEqual([later, sooner]);
  expect(await tasks('inbox', '--sort', 'due')).toEqual([sooner, later]);
  expect(await tasks('inbox', '--claimed-by', 'me')).toEqual([later]);
  expect(await tasks('task', 'list', '--due-before', '2027-01-15T00:00:00Z')).toEqual([sooner]);
  expect(await tasks('task', 'list', '--run', asking)).toEqual([later, sooner]);
  expect(await tasks('task', 'list', '--run', run)).toEqual([]);
  await admin.run(['team', 'create', 'narrowing', '--admin', user.username]);
  const [team] = (await builder.get('/teams?q=narrowing')).body;
  await builder.patch(`/workflows/${body.id}`, { team_id: team.id });
  const ofTeam = await insertRun(app.orm, { owner: user.id, team: team.id });
  const asked = await insertTask(app.orm, ofTeam, { candidates });
  expect(await runs('--team', 'narrowing')).toEqual([run]);
  expect(await tasks('task', 'list', '--team', 'narrowing')).toEqual([asked]);
  expect(await tasks('task', 'list', '--team', team.id, '--workflow', 'tagged')).toEqual([]);
  const unknown = await cli.run(['task', 'list', '--team', 'nobodys']);
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('no team nobodys')]);
  expect(await tasks('agent', 'list', '--type', 'llm', '--status', 'inactive')).toEqual([]);
});
