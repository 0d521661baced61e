/**
 * Who sees runs of a team's workflow, and gets their events: by lists, streams and webhooks (docs/teams.md).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Role } from '../../../contracts/roles.ts';
import type { NewRunEvent } from '../../../contracts/run-events.ts';
import { fanOut } from '../../../domain/delivery/fan-out.ts';
import { appendEvents, serviceEvent } from '../../../domain/runs/events.ts';
import { createDeliveryKinds } from '../../../worker/delivery-kinds.ts';
import { insertTask } from '../../support/human-tasks.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';
import { until } from '../../support/platform.ts';
import { openStream, type SseReader } from '../../support/sse-client.ts';

const definition = { do: [{ first: { set: { a: 1 } } }] };

let app: TestApp;
let admin: Client;
let count = 0;

beforeAll(async () => {
  app = await startTestApp({ env: { EGRESS_ALLOW: 'localhost' } });
  admin = await app.as('admin');
});
afterAll(() => app.close());

interface Person {
  user: TestUser;
  client: Client;
}

async function person(roles: Role[] = ['viewer']): Promise<Person> {
  const user = await app.createUser({ roles });
  return { user, client: await app.as(user) };
}

function created(reply: Reply): any {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

async function newTeam() {
  count += 1;
  const lead = await person();
  const { id } = created(await admin.post('/teams', { name: `heard-${count}`, admin: lead.user.id }));
  const join = async (role: Role): Promise<Person> => {
    const member = await person();
    created(await lead.client.put(`/teams/${id}/members/${member.user.id}`, { role }));
    return member;
  };
  const [viewer, approver, builder] = [await join('viewer'), await join('approver'), await join('builder')];
  return { id, admin: lead, viewer, approver, builder };
}

async function note(runId: string, message: string, more: Partial<NewRunEvent> = {}): Promise<void> {
  count += 1;
  const event = serviceEvent({ key: `note:${count}`, type: 'io.cadenza.test.note.v1', message, ...more });
  await app.orm.em
    .fork()
    .transactional((em) => appendEvents(em, runId, { events: [event], projection: null, acks: [] }));
}

/** A team's workflow, which a builder and a runner have started, and runs that have nothing to do with it. */
async function world() {
  const [team, foreign] = [await newTeam(), await newTeam()];
  const [runner, stranger] = [await person(['builder']), await person(['builder'])];
  const made = { name: 'paid', definition, team_id: team.id, runners: { users: [runner.user.id] } };
  const { id: workflow } = created(await team.builder.client.post('/workflows', made));
  const start = async ({ client }: Person, id: string): Promise<string> =>
    created(await client.post(`/workflows/${id}/run`)).id;
  const ofForeign = { name: 'other', definition, team_id: foreign.id };
  const own = created(await stranger.client.post('/workflows', { name: 'own', definition })).id;
  const other = created(await foreign.builder.client.post('/workflows', ofForeign)).id;
  const runs = {
    builders: await start(team.builder, workflow),
    runners: await start(runner, workflow),
    own: await start(stranger, own),
    foreign: await start(foreign.builder, other),
  };
  return { team, foreign, runner, stranger, workflow, runs };
}

test('builders and admins of the team see its runs and their events, all others none', async () => {
  const { team, foreign, runner, stranger, workflow, runs } = await world();
  const people = {
    ...team,
    runner,
    stranger,
    outside: foreign.builder,
    boss: { user: await app.user('admin'), client: admin },
  };
  const streams = new Map<string, SseReader>();
  for (const [name, one] of Object.entries(people)) {
    if (typeof one === 'string') continue;
    const headers = { authorization: `Bearer ${one.user.token}` };
    streams.set(name, await openStream(`${app.url}/events`, { headers }));
    // Asking for the workflow or a run gives nobody more.
    const asked = await openStream(`${app.url}/events?workflow_id=${workflow}&run_id=${runs.builders}`, {
      headers,
    });
    streams.set(`${name} asks`, asked);
  }
  for (const reader of streams.values())
    await until(
      () => Promise.resolve(reader.comments),
      (comments) => comments > 0,
    );
  for (const [name, run] of Object.entries(runs)) await note(run, name);
  const boss = streams.get('boss');
  await until(
    () => Promise.resolve(boss?.events.length),
    (length) => length === 4,
  );
  await note(runs.builders, 'end');
  const noted = (name: string): string[] => streams.get(name)?.events.map(({ data }) => data.message) ?? [];
  for (const name of ['admin', 'builder', 'boss'].flatMap((one) => [one, `${one} asks`]))
    await until(
      () => Promise.resolve(noted(name)),
      (all) => all.includes('end'),
    );
  expect(Object.fromEntries([...streams.keys()].map((name) => [name, noted(name)]))).toEqual({
    admin: ['builders', 'runners', 'end'],
    'admin asks': ['builders', 'end'],
    builder: ['builders', 'runners', 'end'],
    'builder asks': ['builders', 'end'],
    boss: ['builders', 'runners', 'own', 'foreign', 'end'],
    'boss asks': ['builders', 'end'],
    viewer: [],
    'viewer asks': [],
    approver: [],
    'approver asks': [],
    // Not the inside of their own run.
    runner: [],
    'runner asks': [],
    stranger: ['own'],
    'stranger asks': [],
    outside: ['foreign'],
    'outside asks': [],
  });
  for (const stream of streams.values()) stream.drop();

  const seen = async ({ client }: Person): Promise<unknown[]> => [
    (await client.get(`/runs?workflow_id=${workflow}`)).body.map(({ id }: any) => id).toSorted(),
    (await client.get(`/runs/${runs.builders}`)).status,
    (await client.get(`/runs/${runs.builders}/logs`)).status,
  ];
  const both = [runs.builders, runs.runners].toSorted();
  for (const one of [team.admin, team.builder]) expect(await seen(one)).toEqual([both, 200, 200]);
  for (const one of [team.viewer, team.approver, stranger, foreign.builder])
    expect(await seen(one)).toEqual([[], 404, 404]);
  expect(await seen(runner)).toEqual([[runs.runners], 404, 404]);
  for (const { client } of [team.viewer, team.approver, stranger, foreign.builder, runner])
    expect((await client.get(`/runs/${runs.builders}/events`)).status).toBe(404);
  expect((await runner.client.get(`/runs/${runs.runners}/logs`)).status).toBe(403);
}, 120_000);

test("a team's webhook gets the events of its runs, whoever started them, and of no other", async () => {
  const { team, foreign, runner, stranger, runs } = await world();
  const hook = { url: 'http://localhost:1/hook', types: ['io.cadenza.test'] };
  const added = async ({ client }: Person, more: object = {}): Promise<{ id: string; client: Client }> => ({
    id: created(await client.post('/webhooks', { ...hook, ...more })).id,
    client,
  });
  const hooks = {
    team: await added(team.builder, { team_id: team.id }),
    foreign: await added(foreign.builder, { team_id: foreign.id }),
    runner: await added(runner),
    stranger: await added(stranger),
  };
  // A viewer and an approver of the team make none for it, and see none.
  for (const { client } of [team.viewer, team.approver]) {
    expect((await client.post('/webhooks', { ...hook, team_id: team.id })).status).toBe(403);
    expect((await client.get(`/webhooks/${hooks.team.id}`)).status).toBe(404);
  }
  for (const [name, run] of Object.entries(runs)) await note(run, name);
  const { encryption, keys } = app.app.deps;
  const kinds = createDeliveryKinds({ orm: app.orm, encryption, keys, baseUrl: app.url });
  await until(
    () => fanOut({ orm: app.orm, kinds }),
    ({ state }) => state === 'done',
  );
  const got = async ({ id, client }: { id: string; client: Client }): Promise<string[]> =>
    (await client.get(`/webhooks/${id}/deliveries`)).body.map(({ run_id: run }: any) => run).toSorted();
  expect(await got(hooks.team)).toEqual([runs.builders, runs.runners].toSorted());
  expect(await got(hooks.foreign)).toEqual([runs.foreign]);
  expect(await got(hooks.runner)).toEqual([]);
  expect(await got(hooks.stranger)).toEqual([runs.own]);
  expect((await stranger.client.get(`/webhooks/${hooks.team.id}/deliveries`)).status).toBe(404);

  // Whoever made it: it goes on when they have left, and the former member gets nothing more.
  const former = await added(team.builder, { team_id: team.id, url: 'http://localhost:1/former' });
  created(await team.admin.client.delete(`/teams/${team.id}/members/${team.builder.user.id}`));
  await note(runs.runners, 'later');
  await until(
    () => fanOut({ orm: app.orm, kinds }),
    ({ state }) => state === 'done',
  );
  expect(await got({ id: former.id, client: team.admin.client })).toEqual([runs.runners]);
  expect((await team.builder.client.get(`/webhooks/${former.id}`)).status).toBe(404);

  // A task of somebody else's run that names the team is for its approvers: the team hears of it, no other.
  const types = ['io.cadenza.hitl'];
  const told = await added(team.admin, { team_id: team.id, types, url: 'http://localhost:1/told' });
  const untold = await added(foreign.builder, { team_id: foreign.id, types, url: 'http://localhost:1/told' });
  const candidates = { users: [], roles: [], groups: [], teams: [team.id] };
  const task = await insertTask(app.orm, runs.own, { candidates });
  await note(runs.own, 'task', { type: 'io.cadenza.hitl.noted.v1', data: { hitl_task_id: task } });
  await until(
    () => fanOut({ orm: app.orm, kinds }),
    ({ state }) => state === 'done',
  );
  expect(await got(told)).toEqual([runs.own]);
  expect(await got(untold)).toEqual([]);
}, 120_000);
