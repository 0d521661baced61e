/** `cadenza user erase`, by a real process on the real platform: what it would do, and what it does. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Client, TestUser } from '../../support/app.ts';
import { cliUser, type CliUser } from '../../support/cli.ts';
import { runToEnd, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
let asAdmin: Client;
let admin: CliUser;
let person: TestUser;
/** A run of somebody else about the person. */
let runId: string;

beforeAll(async () => {
  platform = await startTestPlatform();
  asAdmin = await platform.as('admin');
  const { token } = await platform.user('admin');
  admin = cliUser({ CADENZA_URL: platform.url, CADENZA_TOKEN: token });
  person = await platform.createUser({ username: 'Petra.Novak', roles: ['builder'] });
  const steps = { do: [{ a: { set: { note: '${ .note }' } } }] };
  const run = await runToEnd(await platform.as('builder'), steps, { note: 'Ask petra.novak, not Petra' });
  runId = run['id'];
});
afterAll(() => platform.close());

const erase = (...more: string[]) =>
  admin.run(['user', 'erase', 'Petra.Novak', '--runs', 'remove', '--free-text', 'replace', ...more]);
const noteOf = async (): Promise<string> => (await asAdmin.get(`/runs/${runId}`)).body.output.note;

test('a dry run says where names would be replaced, and changes nothing', async () => {
  const planned = await erase('--dry-run');
  expect(planned.exitCode).toBe(0);
  expect(planned.json()).toMatchObject({
    user_id: person.id,
    status: 'planned',
    runs: 'remove',
    free_text: 'replace',
    requested_at: null,
    texts: { status: 'done', found: { runs: 1 }, replaced: { runs: 1 } },
  });
  expect(await noteOf()).toBe('Ask petra.novak, not Petra');
  const reported = await admin.run(['user', 'erase', 'Petra.Novak', '--dry-run']);
  expect(reported.json()).toMatchObject({ free_text: 'report', texts: { found: { runs: 1 }, replaced: {} } });
  expect((await asAdmin.get(`/users/${person.id}`)).body).toMatchObject({
    username: 'Petra.Novak',
    status: 'active',
  });
});

test('without the username, nothing is erased', async () => {
  const [unasked, wrong] = await Promise.all([erase(), erase('--confirm', 'petra')]);
  expect(unasked.exitCode).toBe(2);
  expect(unasked.stderr).toContain('--confirm');
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining('must be the username')]);
  const none = await admin.run(['user', 'erasure', person.id]);
  expect(none.exitCode).toBe(1);
});

test('names are replaced in texts of others, and the report is read again until the end', async () => {
  const erased = await erase('--confirm', 'Petra.Novak');
  expect([erased.exitCode, erased.json()]).toEqual([
    0,
    expect.objectContaining({ user_id: person.id, free_text: 'replace', runs: 'remove' }),
  ]);
  const report = await until(
    async () => (await admin.run(['user', 'erasure', person.id])).json(),
    ({ status }) => status === 'done',
  );
  expect(report.texts).toMatchObject({
    status: 'done',
    found: { runs: 1 },
    replaced: { runs: 1 },
    places: [],
  });
  expect(report.histories).toMatchObject({ removed: 1, waiting: 0, refused: 0, refusal: null });
  expect(await noteOf()).toBe(`Ask erased-${person.id}, not Petra`);
  const gone = await admin.run(['user', 'get', 'Petra.Novak']);
  expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining('There is no user Petra.Novak')]);
  const retried = await admin.run(['user', 'retry-erasure', person.id]);
  expect([retried.exitCode, retried.stderr]).toEqual([5, expect.stringContaining('refused to remove no')]);
});
