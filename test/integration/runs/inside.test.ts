/** Who sees what is inside a run: the rule for a caller, and what SQL says of the run's owner, agree. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { TEAMS_OF_USER, type Actor } from '../../../domain/auth/actor.ts';
import { getFile, listFiles } from '../../../domain/files/service.ts';
import { maySeeInside, OWNER_SEES_INSIDE, readInside } from '../../../domain/runs/policy.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let other: TestUser;
/** The run's team, and another one. */
let teams: [string, string];

const sql = <T = object>(text: string, values: unknown[] = []): Promise<T[]> =>
  app.orm.em.fork().execute<T[]>(text, values);

beforeAll(async () => {
  app = await startTestApp();
  other = await app.createUser({ roles: ['builder'] });
  const admin = await app.as('admin');
  const made = [];
  for (const name of ['ours', 'theirs'])
    made.push((await admin.post('/teams', { name, admin: other.id })).body.id);
  teams = [made[0], made[1]];
});
afterAll(() => app.close());

type Role = 'viewer' | 'approver' | 'builder' | 'admin';
const OWNERS: Record<string, { isAdmin?: true; ours?: Role; theirs?: Role }> = {
  'a person': {},
  'an administrator': { isAdmin: true },
  'a viewer of the team': { ours: 'viewer' },
  'a builder of the team': { ours: 'builder' },
  'a viewer of another team': { theirs: 'viewer' },
};

async function actorOf(name: string): Promise<Actor> {
  const { isAdmin, ...members } = OWNERS[name] ?? {};
  const { id } = await app.createUser({ roles: [isAdmin ? 'admin' : 'viewer'] });
  for (const [index, role] of [members.ours, members.theirs].entries())
    if (role !== undefined)
      await sql(
        'insert into team_member (team_id, user_id, role, added_by, added_at) values (?, ?, ?, ?, now())',
        [teams[index], id, role, other.id],
      );
  const [actor] = await sql<Actor>(
    `select id, username, to_json(roles) as roles, to_json(groups) as groups, ${TEAMS_OF_USER}
       from user_account u where id = ?`,
    [id],
  );
  if (actor === undefined) throw new Error('no user');
  return actor;
}

interface Place {
  holder: 'own' | 'other' | 'ours' | 'theirs';
  visibility: 'private' | 'public';
}

async function insertWorkflow(owner: string, { holder, visibility }: Place): Promise<string> {
  const id = uuidv7();
  const team = holder === 'ours' ? teams[0] : holder === 'theirs' ? teams[1] : null;
  const person = holder === 'own' ? owner : other.id;
  await sql(
    `insert into workflow (id, owner_id, team_id, name, description, visibility, tags, revision, valid,
                           runnable, created_at, updated_at)
     values (?, ?, ?, 'w', '', ?, '{}', 1, true, true, now(), now())`,
    [id, person, team, visibility],
  );
  return id;
}

interface Given {
  owner: string;
  workflow?: string | null;
  team?: string | null;
  isChild?: boolean;
  byGrant?: boolean;
}

async function insertRun({ owner, workflow, team, isChild, byGrant }: Given): Promise<string> {
  const id = uuidv7();
  const insert = (run: string, parent: string | null): Promise<object[]> =>
    sql(
      `insert into run (id, workflow_id, workflow_name, definition, status, owner_id, root_run_id,
                        parent_run_id, team_id, by_grant)
       values (?, ?, 'w', '{}', 'completed', ?, ?, ?, ?, ?)`,
      [run, workflow ?? null, owner, run, parent, team ?? null, byGrant ?? false],
    );
  const parent = isChild === true ? uuidv7() : null;
  if (parent !== null) await insert(parent, null);
  await insert(id, parent);
  return id;
}

const WORKFLOWS: (Place | null)[] = [
  null,
  ...(['own', 'other', 'ours', 'theirs'] as const).flatMap((holder) =>
    (['private', 'public'] as const).map((visibility) => ({ holder, visibility })),
  ),
];

test.each(Object.keys(OWNERS))('whether a run is open to %s, who has started it', async (name) => {
  const actor = await actorOf(name);
  // SQL leaves out what administrators may.
  const owner: Actor = { ...actor, roles: ['viewer'] };
  const told: string[] = [];
  let open = 0;
  for (const place of WORKFLOWS) {
    const workflow = place && (await insertWorkflow(actor.id, place));
    for (const team of [null, teams[0]])
      for (const isChild of [false, true])
        for (const byGrant of [false, true]) {
          const id = await insertRun({ owner: actor.id, workflow, team, isChild, byGrant });
          const run = await readInside(app.orm.em.fork(), id);
          const [row] = await sql<{ sees: boolean }>(
            `select ${OWNER_SEES_INSIDE} as sees from run r where r.id = ?`,
            [id],
          );
          if (run === undefined || row === undefined) throw new Error('no run');
          const sees = maySeeInside(owner, run);
          open += sees ? 1 : 0;
          if (sees !== row.sees)
            told.push(JSON.stringify({ place, team: team !== null, isChild, byGrant, sees, sql: row.sees }));
          if (actor.roles.includes('admin')) expect(maySeeInside(actor, run)).toBe(true);
        }
  }
  expect(told).toEqual([]);
  expect(open).toBeGreaterThan(0);
});

/** Where a run of the owner has a file. */
const FILES: Record<string, (run: string, owner: string, file: string) => Promise<unknown>> = {
  inside: async () => {},
  'in the input': (run, _owner, file) => write(run, 'input', { a: [{ file_id: file }] }),
  'in the output': (run, _owner, file) => write(run, 'output', { file_id: file.toUpperCase() }),
  'as a text of the output': (run, _owner, file) => write(run, 'output', `See ${file}.`),
  'in the subject of a task of theirs': (run, owner, file) =>
    insertTask(app.orm, run, { assignee: owner, subject: { file_id: file } }),
  'in the subject of a task of others': (run, _owner, file) =>
    insertTask(app.orm, run, { assignee: other.id, subject: { file_id: file } }),
  'attached to their decision': (_run, _owner, file) =>
    sql('update file set attached = true where id = ?', [file]),
  "attached to another's decision": (_run, _owner, file) =>
    sql('update file set attached = true, owner_id = ? where id = ?', [other.id, file]),
};

function write(run: string, column: 'input' | 'output', value: unknown): Promise<unknown> {
  return sql(`update run set ${column} = ?::json where id = ?`, [JSON.stringify(value), run]);
}

const SHOWN = Object.keys(FILES).filter(
  (place) =>
    !['inside', 'in the subject of a task of others', "attached to another's decision"].includes(place),
);
const ALL = Object.keys(FILES);
const OF_CHILDREN = ['in the subject of a task of theirs', 'attached to their decision'];

test.each<[string, string, Omit<Given, 'owner' | 'workflow'> & { isOurs?: true }, string[]]>([
  ['the owner of a run of their own', 'a person', {}, ALL],
  ['the owner of its child', 'a person', { isChild: true }, ALL],
  ['a runner by grant', 'a person', { byGrant: true }, SHOWN],
  ['a runner by grant, of a child', 'a person', { byGrant: true, isChild: true }, OF_CHILDREN],
  ['a member of the team', 'a viewer of the team', { isOurs: true }, ALL],
  ['a member of the team, of a child', 'a viewer of the team', { isOurs: true, isChild: true }, ALL],
  ['a runner who is a member', 'a viewer of the team', { isOurs: true, byGrant: true }, ALL],
  ['who is no member any more', 'a person', { isOurs: true }, SHOWN],
  ['who is no member any more, of a child', 'a person', { isOurs: true, isChild: true }, OF_CHILDREN],
  ['a builder of the team', 'a builder of the team', { isOurs: true, byGrant: true }, ALL],
  ['an administrator', 'an administrator', { byGrant: true, isChild: true }, ALL],
])('%s: the list of the run has the files that they may read', async (_case, name, given, shown) => {
  const { isOurs, ...more } = given;
  const actor = await actorOf(name);
  const em = app.orm.em.fork();
  const read: string[] = [];
  const listed: string[] = [];
  for (const [place, put] of Object.entries(FILES)) {
    const workflow = await insertWorkflow(actor.id, {
      holder: isOurs ? 'ours' : 'other',
      visibility: 'private',
    });
    const run = await insertRun({ ...more, owner: actor.id, workflow, team: isOurs ? teams[0] : null });
    const file = uuidv7();
    await sql(
      `insert into file (id, owner_id, name, media_type, size, sha256, visibility, of_runs)
       values (?, ?, 'f', 'text/plain', 0, '', 'private', true)`,
      [file, actor.id],
    );
    await sql('insert into run_file (run_id, file_id) values (?, ?)', [run, file]);
    await put(run, actor.id, file);
    const found = await getFile(em, actor, file).catch(() => null);
    if (found !== null) read.push(place);
    const page = await listFiles(em, actor, { run_id: run }, { limit: 10 });
    if (page.some(({ id }) => id === file)) listed.push(place);
  }
  expect(read).toEqual(shown);
  // A list has what its reader holds, besides what is public.
  const held = actor.roles.includes('admin') ? shown : shown.filter((place) => !place.includes('another'));
  expect(listed).toEqual(held);
});
