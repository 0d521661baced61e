/** Warnings about people whom human tasks name and who are not there. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';

let app: TestApp;
let owner: TestUser;
let asOwner: Client;
let asAdmin: Client;

beforeAll(async () => {
  app = await startTestApp();
  owner = await app.createUser({ username: 'olga', roles: ['builder'], groups: ['finance'] });
  [asOwner, asAdmin] = await Promise.all([app.as(owner), app.as('admin')]);
});
afterAll(() => app.close());

const asking = (given: object): object => ({
  do: [
    { review: { call: 'human', with: { title: 'Go?', decisions: ['ok'], ...given } } },
    { done: { set: '${ .decision }' } },
  ],
});
const place = (rest: string): string => `/do/0/review/with/${rest}`;

/** Pointers and codes of the problems. */
async function problemsOf(client: Client, given: object): Promise<[string, string][]> {
  const { status, body } = await client.post('/workflows/validate', { definition: asking(given) });
  expect([status, body.valid, body.runnable]).toEqual([200, true, true]);
  for (const { severity } of body.problems) expect(severity).toBe('warning');
  return body.problems.map(({ pointer, code }: Record<string, string>) => [pointer, code]);
}

test.each<[string, object, [string, string][]]>([
  ['an assignee', { assignee: 'nosuchuser' }, [[place('assignee'), 'unknown_user']]],
  ['a group', { candidates: { groups: ['financ'] } }, [[place('candidates/groups/0'), 'empty_group']]],
  [
    'a group in other case',
    { candidates: { groups: 'Finance' } },
    [[place('candidates/groups'), 'empty_group']],
  ],
  ['a team', { candidates: { teams: ['nope'] } }, [[place('candidates/teams/0'), 'unknown_team']]],
  [
    'candidates',
    { candidates: { users: ['olga', 'nobody'], groups: ['finance', 'staff'] } },
    [
      [place('candidates/users/1'), 'unknown_user'],
      [place('candidates/groups/1'), 'empty_group'],
    ],
  ],
  [
    'an escalation',
    { candidates: { users: 'olga' }, escalate: [{ after: 'PT1H', to: { groups: 'boss' } }] },
    [[place('escalate/0/to/groups'), 'empty_group']],
  ],
  [
    'excluded people',
    { candidates: { roles: 'approver' }, quorum: { exclude: { users: ['olag'], groups: 'finance' } } },
    [[place('quorum/exclude/users/0'), 'unknown_user']],
  ],
  ['nobody, as an expression', { assignee: '${ .who }', candidates: { groups: '${ .group }' } }, []],
  [
    'people who are there',
    { assignee: 'OLGA', candidates: { groups: ['finance'], roles: ['approver'] } },
    [],
  ],
])('a definition warns of %s that nobody has', async (_case, given, problems) => {
  expect(await problemsOf(asOwner, given)).toEqual(problems);
});

test('users are found by id, and a disabled one is none', async () => {
  const leaver = await app.createUser({ username: 'leaver', roles: ['approver'], groups: ['leavers'] });
  const given = { assignee: leaver.id.toUpperCase(), candidates: { users: 'leaver', groups: 'leavers' } };
  expect(await problemsOf(asOwner, given)).toEqual([]);
  expect((await asAdmin.patch(`/users/${leaver.id}`, { status: 'disabled' })).status).toBe(200);
  expect(await problemsOf(asOwner, given)).toEqual([
    [place('assignee'), 'unknown_user'],
    [place('candidates/users'), 'unknown_user'],
    [place('candidates/groups'), 'empty_group'],
  ]);
});

test("other people's teams are as unknown as those that do not exist", async () => {
  const team = (await asAdmin.post('/teams', { name: 'auditors' })).body;
  const given = { candidates: { teams: ['Auditors', team.id] } };
  expect(await problemsOf(asAdmin, given)).toEqual([]);
  expect(await problemsOf(asOwner, given)).toEqual([
    [place('candidates/teams/0'), 'unknown_team'],
    [place('candidates/teams/1'), 'unknown_team'],
  ]);
  expect((await asAdmin.put(`/teams/${team.id}/members/${owner.id}`, { role: 'viewer' })).status).toBe(201);
  expect(await problemsOf(await app.as(owner), given)).toEqual([]);
});

test('the warning goes when the person comes; those who may change the workflow see it', async () => {
  const definition = asking({ candidates: { users: ['later'], groups: ['new-group'] } });
  const warnings = [
    expect.objectContaining({ pointer: place('candidates/users/0'), severity: 'warning' }),
    expect.objectContaining({
      pointer: place('candidates/groups/0'),
      message: 'nobody is in the group "new-group" now: it asks nobody until then',
    }),
  ];
  const { body } = await asOwner.post('/workflows', { name: 'typo', definition, visibility: 'public' });
  expect(body).toMatchObject({ valid: true, runnable: true, problems: warnings });
  const read = async (client: Client): Promise<unknown[]> => {
    const record = (await client.get(`/workflows/${body.id}`)).body.problems;
    const [listed] = (await client.get('/workflows?q=typo')).body;
    expect(listed.problems).toEqual(record);
    return record;
  };
  expect(await read(asOwner)).toEqual(warnings);
  expect(await read(asAdmin)).toEqual(warnings);
  const asViewer = await app.as('viewer');
  expect(await read(asViewer)).toEqual([]);
  expect(await problemsOf(asViewer, { assignee: 'nosuchuser' })).toEqual([]);
  const request = {
    set: 'typo-set',
    resources: [{ kind: 'workflow', name: 'typo-of-set', definition }],
  };
  const { plan } = (await asOwner.post('/apply', request)).body;
  expect(plan).toMatchObject([
    {
      warnings: [
        { pointer: `/definition${place('candidates/users/0')}`, code: 'unknown_user' },
        { pointer: `/definition${place('candidates/groups/0')}`, code: 'empty_group' },
      ],
    },
  ]);
  await app.createUser({ username: 'later', roles: ['approver'], groups: ['new-group'] });
  expect(await read(asOwner)).toEqual([]);
});

test('a group of runners that nobody is in gives a warning, until somebody comes', async () => {
  const runners = { groups: ['finance', 'empty one', 'starters'] };
  const definition = asking({ candidates: { groups: ['finance'] } });
  const { body } = await asOwner.post('/workflows', { name: 'started', definition, runners });
  const warning = (place: number, name: string): object => ({
    pointer: `/runners/groups/${place}`,
    code: 'empty_group',
    message: `nobody is in the group "${name}" now: it lets nobody start the workflow until then`,
  });
  expect(body.warnings).toEqual([warning(1, 'empty one'), warning(2, 'starters')]);
  await app.createUser({ username: 'starter', roles: ['viewer'], groups: ['starters'] });
  const changed = await asOwner.patch(`/workflows/${body.id}`, { runners: { groups: ['starters', 'none'] } });
  expect(changed.body.warnings).toEqual([warning(1, 'none')]);
  const resource = { kind: 'workflow', name: 'of-set', definition, runners };
  const { plan } = (await asOwner.post('/apply', { set: 'runners', resources: [resource] })).body;
  expect(plan[0].warnings).toEqual([warning(1, 'empty one')]);
});
