/** Agents and the settings in a real browser, on the real platform. */
import { afterAll, expect } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';

import { recordedBackup } from '../../../domain/operations/backups.ts';
import { continueErasures } from '../../../domain/privacy/continue-erasures.ts';
import { createClient, type Client, type TestUser } from '../../support/app.ts';
import { startAudioServer, wavOf } from '../../support/audio-server.ts';
import { keepPicture } from '../../support/chromium.ts';
import { consoleTests, expectFits, expectScreensFit, type Screen } from '../../support/console.ts';
import { startServer, type TestServer } from '../../support/http-server.ts';
import { endOf, until, type TestPlatform } from '../../support/platform.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';

const password = 'correct horse battery staple';
/** Where the service has a function of workflows. */
const FUNCTION = '/double.yaml';
const DOCUMENT = '/openapi.json';
const PETS = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: '/v1' }],
  paths: {
    '/pets/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      get: { operationId: 'getPet', summary: 'Get a pet', responses: {} },
      put: { operationId: 'putPet', responses: {} },
    },
  },
};
let platform: TestPlatform;
let service: TestServer;
let ada: TestUser;
let asAda: Client;

const { inBrowser, visit } = consoleTests(async (started) => {
  platform = started;
  service = await startServer(({ body, path }, response) => {
    if (path === DOCUMENT) return void response.end(JSON.stringify(PETS));
    if (path === FUNCTION) return void response.end('set: { n: "${ .n * 2 }" }');
    const { text } = JSON.parse(body || '{}');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ summary: `short: ${text}` }));
  });
  ada = await platform.createUser({ username: 'ada', roles: ['builder'] });
  asAda = await platform.as(ada);
});
afterAll(async () => service?.close());

/** Logs in as the user whom the admin creates. */
async function logIn(page: Page, given: string): Promise<void> {
  await page.getByLabel('Username').fill('grace');
  await page.getByLabel('Password').fill(given);
  await click(page, 'Log in');
}

const heading = (page: Page, title: string) => page.getByRole('heading', { name: title, exact: true });
const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

const inputSchema = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string', title: 'Text', maxLength: 5_000 } },
};

const summariser = (name: string) => ({
  name,
  type: 'api',
  version: '1.0.0',
  visibility: 'private',
  description: 'Says a **text** in one sentence.',
  input_schema: inputSchema,
  configuration: { endpoint: service.url, headers: { 'X-Key': '<SERVICE_KEY>' } },
  skills: [{ name: 'Summarise', tags: ['text'], examples: ['This article in a sentence'] }],
});

inBrowser('a builder registers an agent, publishes it and tries it', async () => {
  await asAda.put('/secrets/SERVICE_KEY', { value: 'not-to-be-shown' });
  const { page, complaints, open } = await visit(ada);
  await open('/agents');
  await page.getByText('No agents yet.').waitFor();
  await page.keyboard.press('n');
  await heading(page, 'Register an agent').waitFor();
  await click(page, 'Register');
  // The form says what is missing before anything is sent.
  await page.getByText('Name is missing').waitFor();
  await page.getByLabel('Name', { exact: false }).first().fill('summariser');
  await page.getByRole('textbox', { name: 'Address', exact: true }).fill(service.url);
  await page.getByLabel('Headers').fill('{"X-Key": "<SERVICE_KEY>"}');
  await page.getByLabel('Input schema').fill(JSON.stringify(inputSchema));
  // One place says where it is.
  expect(await page.getByLabel('URL').count()).toBe(0);
  await page.getByLabel('Query').fill('{"page": }');
  await click(page, 'Register');
  await page.getByText(/^must be JSON: .*"page": \}/).waitFor();
  await page.getByLabel('Query').fill('');
  await page.getByLabel('Version', { exact: false }).fill('first');
  await click(page, 'Register');
  // The server's problem is shown at its field.
  await page.getByLabel('Version').and(page.locator('[aria-invalid=true]')).waitFor();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  await page.getByLabel('Version').fill('1.0.0');
  await click(page, 'Register');
  await heading(page, 'summariser').waitFor();
  await page.getByText('<SERVICE_KEY>').waitFor();
  await page.keyboard.press('3');
  await click(page, 'Publish');
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await page.getByText('Version 1.0.0 is published.').waitFor();
  await page.keyboard.press('2');
  await page.getByLabel('Text').fill('It rained.');
  await page.keyboard.press('Control+Enter');
  await page.getByText('short: It rained.', { exact: true }).waitFor();
  await page.getByText('As curl').click();
  await page.getByText('"input":{"text":"It rained."}').first().waitFor();
  expect(await page.content()).not.toContain('not-to-be-shown');
  expect(service.seen.at(-1)?.headers['x-key']).toBe('not-to-be-shown');
  await keepPicture(page, 'agent-try');
  expect(complaints).toEqual([]);
});

inBrowser('the form of a model asks for an address where the provider has none', async () => {
  const { page, complaints, open } = await visit(ada);
  await open('/agents/new');
  await page.getByLabel('Kind').selectOption('llm');
  const address = page.getByRole('textbox', { name: 'Address', exact: true });
  const standard = page.getByText('Default: that of the provider.');
  await address.waitFor();
  expect(await standard.count()).toBe(0);
  await page.getByLabel('Name', { exact: false }).first().fill('writer');
  await click(page, 'Register');
  await page.getByText('Address is missing').waitFor();
  await expectFits(page, 'agent-new-model');
  await page.getByLabel('Who serves the model').selectOption('openai');
  await standard.waitFor();
  await page.getByLabel('Who serves the model').selectOption('openai-compatible');
  await address.fill(service.url);
  await click(page, 'Register');
  await heading(page, 'writer').waitFor();
  expect((await asAda.get('/agents?q=writer')).body).toMatchObject([
    { name: 'writer', type: 'llm', configuration: { base_url: service.url } },
  ]);
  expect(complaints).toEqual([]);
});

inBrowser('the focus moves to the first problem of what an agent is tried with', async () => {
  const { body: agent } = await asAda.post('/agents', summariser('tried'));
  const { page, complaints, open } = await visit(ada);
  const focused = page.locator(':focus');
  await open(`/agents/${agent.id}?view=try`);
  await page.getByLabel('Text').waitFor();
  await page.getByRole('button', { name: /^Invoke/ }).click();
  await page.getByText('Text is missing').waitFor();
  await page.getByLabel('Text').and(focused).waitFor();
  await click(page, 'Enter the input as JSON');
  await page.getByLabel('Text, or JSON').fill('{"text": 3}');
  await page.getByRole('button', { name: /^Invoke/ }).click();
  await page.getByLabel('Text, or JSON').and(page.locator('[aria-invalid=true]')).and(focused).waitFor();
  // A problem of no field takes the focus itself.
  const needing = { ...summariser('whole'), input_schema: { ...inputSchema, required: ['text', 'more'] } };
  const { body: whole } = await asAda.post('/agents', needing);
  await open(`/agents/${whole.id}?view=try`);
  await page.getByLabel('Text').fill('It rained.');
  await page.getByRole('button', { name: /^Invoke/ }).click();
  await focused.filter({ hasText: /more is missing/i }).waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('an agent is tried with a file, and a sound in its result can be played', async () => {
  const audio = await startAudioServer();
  try {
    const { page, complaints, open } = await visit(ada);
    await open('/agents/new');
    await page.getByLabel('Kind').selectOption('audio');
    await page.getByLabel('Name', { exact: false }).first().fill('listener');
    await page.getByRole('textbox', { name: 'Address', exact: true }).fill(audio.url);
    await page.getByLabel(/^Model/).fill('m');
    await page.getByLabel(/^Task/).selectOption('Transcribe');
    await click(page, 'Register');
    await heading(page, 'listener').waitFor();
    await page.keyboard.press('2');
    const file = { name: 'note.wav', mimeType: 'audio/wav', buffer: wavOf(3, 20) };
    await page.getByLabel('Attach a file').setInputFiles(file);
    await page.getByRole('button', { name: 'Remove note.wav' }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByText('3-22', { exact: true }).waitFor();
    const configuration = { base_url: audio.url, model: 'm', task: 'speak', format: 'wav' };
    const speaker = {
      name: 'speaker',
      type: 'audio',
      version: '1.0.0',
      visibility: 'private',
      configuration,
    };
    const { body: agent } = await asAda.post('/agents', speaker);
    await open(`/agents/${agent.id}?view=try`);
    await page.getByLabel('Text, or JSON').fill('Hello');
    await page.keyboard.press('Control+Enter');
    const sound = page.locator('audio[aria-label="speech.wav"]');
    await sound.waitFor();
    // The policy of the page lets the browser load it.
    const seconds = await sound.evaluate(
      (element: any) =>
        new Promise((resolve, reject) => {
          element.onloadedmetadata = () => resolve(element.duration);
          element.onerror = () => reject(new Error(element.error?.message));
          element.preload = 'metadata';
          element.load();
        }),
    );
    expect(seconds).toBeGreaterThan(0);
    expect(await page.getByRole('link', { name: 'speech.wav' }).getAttribute('download')).toBe('speech.wav');
    expect(complaints).toEqual([]);
  } finally {
    await audio.close();
    // The tests below begin without files.
    for (const { id } of (await asAda.get('/files')).body) await asAda.delete(`/files/${id}`);
  }
});

inBrowser('a change needs a higher version, and the difference is shown', async () => {
  const { body: agent } = await asAda.post('/agents', summariser('editor'));
  await asAda.post(`/agents/${agent.id}/versions/1.0.0/publish`);
  const { page, complaints, open } = await visit(ada);
  await open(`/agents/${agent.id}/edit`);
  await page.getByLabel('Result').fill('.summary');
  await click(page, 'Save');
  await page
    .getByRole('alert')
    .getByText(/version/)
    .waitFor();
  expect(complaints.splice(0)).toHaveLength(1);
  await page.getByLabel('Version').fill('1.1.0');
  await click(page, 'Save');
  await page.getByText('editor is saved.').waitFor();
  await page.getByRole('tab', { name: 'Versions' }).click();
  await page
    .getByText('added: "response": ".summary"')
    .or(page.getByText('"response": ".summary"'))
    .first()
    .waitFor();
  await click(page, 'Publish');
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await page.getByText('Version 1.1.0 is published.').waitFor();
  await page
    .getByRole('row', { name: /1\.0\.0/ })
    .getByRole('button', { name: 'Deprecate' })
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Deprecate' }).click();
  await page.getByText('Version 1.0.0 is deprecated.').waitFor();
  await page.getByRole('tab', { name: 'Skills' }).click();
  await click(page, 'Add a skill');
  await page.getByRole('dialog').getByLabel('Name').fill('Shorten');
  await page.getByRole('dialog').getByLabel('Tags').fill('text\nshort');
  await click(page, 'Add');
  await heading(page, 'Shorten').waitFor();
  await page.getByRole('tab', { name: 'Card' }).click();
  await page.getByText('"name": "Shorten"').first().waitFor();
  const { body } = await asAda.get(`/agents/${agent.id}`);
  expect(body).toMatchObject({
    published_version: '1.1.0',
    configuration: { response: '.summary', headers: { 'X-Key': '<SERVICE_KEY>' } },
    skills: [{ name: 'Summarise' }, { name: 'Shorten', tags: ['text', 'short'] }],
  });
  expect(complaints).toEqual([]);
});

inBrowser('the settings say of a webhook that it fails, why, and which type matches nothing', async () => {
  const body = { url: 'http://127.0.0.1:1/closed', types: ['io.cadenza.hitll'] };
  const { id } = (await asAda.post('/webhooks', body)).body;
  expect((await asAda.post(`/webhooks/${id}/test`)).status).toBe(202);
  await until(
    async () => (await asAda.get(`/webhooks/${id}`)).body,
    ({ last_error: error }) => error !== null,
  );
  const { page, complaints, open } = await visit(ada);
  await open('/settings/webhooks');
  const row = page.getByRole('row', { name: /closed/ });
  await row.getByText('failing since').waitFor();
  await row.getByText(/refused the connection.*; 1 waiting/).waitFor();
  await row.getByText('1 warning').click();
  await row.getByText('io.cadenza.hitll matches none of').waitFor();
  await row.getByText('did you mean "io.cadenza.hitl"?').waitFor();
  await asAda.delete(`/webhooks/${id}`);
  expect(complaints).toEqual([]);
});

inBrowser('the settings: secrets, clients, webhooks with their deliveries, and files', async () => {
  const { page, complaints, open } = await visit(ada);
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await open('/settings/secrets');
  await click(page, 'Set a secret');
  await dialog.getByLabel('Name').fill('MODEL_KEY');
  await dialog.getByLabel('Value').fill('a-value');
  await dialog.getByRole('button', { name: 'Set', exact: true }).click();
  await page.getByText('MODEL_KEY is set.').waitFor();
  await page
    .getByRole('row', { name: /MODEL_KEY/ })
    .getByRole('button', { name: 'Delete' })
    .click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('row', { name: /MODEL_KEY/ }).waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'Machine clients' }).click();
  await click(page, 'Create a client');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('nightly');
  expect(await dialog.getByRole('checkbox').count()).toBe(0);
  await dialog.getByLabel('May do').selectOption('what its scopes allow');
  await dialog.getByLabel('agents:read').check();
  await dialog.getByLabel('runs:read').check();
  await expectFits(page, 'scopes');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.locator('pre').nth(1).waitFor();
  const [id = '', secret = ''] = await dialog.locator('pre').allInnerTexts();
  const token = await platform.anonymous.post('/auth/token', {
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
  });
  expect(token.status).toBe(200);
  const nightly = createClient(platform.url, token.body.access_token);
  const replies = await Promise.all([nightly.get('/runs'), nightly.get('/workflows')]);
  expect(replies.map(({ status, body }) => [status, body.code])).toEqual([
    [200, undefined],
    [403, 'insufficient_scope'],
  ]);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('row', { name: /nightly.*agents:read runs:read/ }).waitFor();
  await page
    .getByRole('row', { name: /nightly/ })
    .getByRole('button', { name: 'Delete' })
    .click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No machine clients.').waitFor();

  await page.getByRole('link', { name: 'Webhooks' }).click();
  await click(page, 'Create a webhook');
  await dialog.getByLabel('Address').fill(service.url);
  await dialog.getByRole('button', { name: 'Create' }).click();
  const first = await dialog.locator('pre', { hasText: 'whsec_' }).innerText();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await click(page, 'Change');
  await dialog.getByLabel('Event types').fill('*.faulted.v1');
  await dialog.getByLabel('Description').fill('What fails');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /faulted/ }).waitFor();
  const [hook] = (await asAda.get('/webhooks')).body;
  expect(hook).toMatchObject({ url: service.url, types: ['*.faulted.v1'], description: 'What fails' });
  await click(page, 'Change');
  await dialog.getByLabel('Event types').fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /faulted/ }).waitFor({ state: 'detached' });
  await click(page, 'Send a test');
  await page.getByText('A test event is on its way.').waitFor();
  await page.getByRole('link', { name: 'Deliveries' }).click();
  const delivered = (expected: number) =>
    until(
      async () => {
        await click(page, 'Check again');
        return page.getByRole('row', { name: /delivered/ }).count();
      },
      (count) => count === expected,
    );
  await delivered(1);
  await click(page, 'Send again');
  await page.getByText('It is sent again.').waitFor();
  await delivered(2);
  await page.getByRole('link', { name: 'All webhooks' }).click();
  await click(page, 'More');
  await click(page, 'Rotate');
  await dialog.getByLabel('The current secret signs too').selectOption('for 1 hour');
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  const rotated = await dialog.locator('pre', { hasText: 'whsec_' }).innerText();
  expect(rotated).not.toBe(first);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await click(page, 'Send a test');
  await page.getByRole('link', { name: 'Deliveries' }).click();
  await delivered(3);
  const sent = service.seen.findLast(({ headers }) => headers['webhook-id'] !== undefined);
  const signed = (by: string) => () =>
    new Webhook(by).verify(sent?.body ?? '', sent?.headers as Record<string, string>);
  expect(signed(rotated)()).toMatchObject({ type: 'io.cadenza.webhook.test.v1' });
  expect(signed(first)()).toMatchObject({ type: 'io.cadenza.webhook.test.v1' });
  await page.getByRole('link', { name: 'All webhooks' }).click();
  await page.getByText('active, former secret ends').waitFor();
  await click(page, 'More');
  await click(page, 'Rotate');
  await dialog.getByLabel('The current secret signs too').selectOption('no more');
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  await dialog.locator('pre', { hasText: 'whsec_' }).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByText('former secret ends').waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'Files' }).click();
  const content = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('otters') };
  await page.getByLabel('File to upload').setInputFiles(content);
  await click(page, 'Upload');
  await page.getByText('note.txt is uploaded.').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'note.txt' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('note.txt');
  expect(readFileSync(await download.path(), 'utf8')).toBe('otters');
  const file = page.getByRole('row', { name: /note.txt/ });
  await file.getByRole('button', { name: 'Change' }).click();
  await dialog.getByLabel('Name').fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Name is missing').waitFor();
  await dialog.getByLabel('Name').fill('note of otters.txt');
  await dialog.getByLabel('Visibility').selectOption('public');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('note of otters.txt is saved.').waitFor();
  await page.getByRole('searchbox', { name: 'Search files' }).fill('herons');
  await page.getByText('Nothing matches “herons”.').waitFor();
  await page.getByRole('searchbox', { name: 'Search files' }).fill('otters');
  await page.getByRole('row', { name: /note of otters.txt.*public/ }).waitFor();
  await click(page, 'Link');
  await dialog.getByLabel('It works for').selectOption('15 minutes');
  await dialog.getByRole('button', { name: 'Create the link' }).click();
  const address = await dialog.locator('pre').innerText();
  const withoutLogIn = await fetch(address);
  expect([withoutLogIn.status, await withoutLogIn.text()]).toEqual([200, 'otters']);
  await expectFits(page, 'file-link');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page
    .getByRole('row', { name: /otters.txt/ })
    .getByRole('button', { name: 'Delete' })
    .click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Nothing matches “otters”.').waitFor();
  // A builder is not offered what only admins may use, and is told why.
  expect(await page.getByRole('link', { name: 'Users' }).count()).toBe(0);
  await open('/settings/users');
  await page.getByText('This needs the role admin.').waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('a source of events is shared and changed, and a workflow hears others', async () => {
  const bob = await platform.createUser({ username: 'bob', roles: ['builder'] });
  const { page, complaints, open } = await visit(ada);
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await open('/settings/events');
  await click(page, 'Add a source');
  await dialog.getByRole('textbox', { name: /^Source/ }).fill('/shop');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const row = page.getByRole('row', { name: /\/shop/ });
  const change = () => row.getByRole('button', { name: 'Change' }).click();
  const save = () => dialog.getByRole('button', { name: 'Save' }).click();
  await change();
  await dialog.getByLabel('Share with').fill(bob.id);
  await save();
  await row.getByText('1 user').waitFor();
  await change();
  await dialog.getByLabel('Description').fill('Ours');
  const [source] = (await asAda.get('/event-sources')).body;
  await asAda.patch(`/event-sources/${source.id}`, { shared_with: [] });
  await save();
  await dialog.getByRole('button', { name: 'Show what is saved now, and drop my changes' }).click();
  await until(
    () => dialog.getByLabel('Share with').inputValue(),
    (shared) => shared === '',
  );
  // The browser itself notes the refusal.
  expect(complaints.splice(0)).toEqual([expect.stringContaining('412')]);
  await dialog.getByLabel('Description').fill('Ours');
  await save();
  await dialog.waitFor({ state: 'detached' });
  const { body: saved } = await asAda.get(`/event-sources/${source.id}`);
  expect(saved).toMatchObject({ source: '/shop', shared_with: [], description: 'Ours' });

  // Only who shares a source can be named as a sender.
  const { body: me } = await asAda.get('/users/me');
  const asBob = await platform.as(bob);
  expect((await asBob.post('/event-sources', { source: '/bob', shared_with: [me.id] })).status).toBe(201);
  const { body: workflow } = await asAda.post('/workflows', {
    name: 'By orders',
    definition: {
      schedule: { on: { one: { with: { type: 'order.paid' } } } },
      do: [{ twice: { call: `${service.url}${FUNCTION}`, with: { n: 1 } } }],
    },
  });
  await open(`/workflows/${workflow.id}`);
  await page.getByText('By events: order.paid').waitFor();
  const pinned = page.getByRole('list', { name: 'From elsewhere' });
  await pinned.getByText(`${service.url}${FUNCTION}`).waitFor();
  await pinned.getByText(workflow.resources[0].digest).waitFor();
  const senders = page.getByRole('heading', { name: 'Events of others' }).locator('..');
  await senders.getByText('Only events of its owner reach it.').waitFor();
  await senders.getByRole('button', { name: 'Change' }).click();
  await dialog.getByLabel('Users').fill(bob.id);
  await save();
  await senders.getByRole('listitem').getByText('bob').waitFor();
  expect((await asAda.get(`/workflows/${workflow.id}/event-senders`)).body).toEqual({ users: [bob.id] });
  await expectFits(page, 'workflow-of-events');

  // A run leads to the event that started it.
  const paid = { specversion: '1.0', id: 'paid-1', source: '/shop', type: 'order.paid', data: { order: 7 } };
  const json = { headers: { 'content-type': 'application/cloudevents+json' } };
  expect((await asAda.post('/events', paid, json)).status).toBe(202);
  const [run] = await until(
    async () => (await asAda.get(`/runs?workflow_id=${workflow.id}`)).body,
    ({ length }) => length > 0,
  );
  await open(`/runs/${run.id}`);
  await page.getByRole('link', { name: 'Started by an event' }).click();
  await page.getByRole('definition').filter({ hasText: 'paid-1' }).waitFor();
  await expectFits(page, 'received-event');
  // Whose signature is wrong is not told why, but its owner is.
  await asAda.put('/secrets/HOOK_KEY', { value: 'a key of sixteen bytes' });
  const { body: hook } = await asAda.post('/hooks', { name: 'Issues', scheme: 'github', secret: 'HOOK_KEY' });
  expect((await createClient(platform.url).post(`/hooks/${hook.id}`, {})).status).toBe(401);
  await until(
    async () => (await asAda.get(`/hooks/${hook.id}`)).body.last_refusal,
    (reason) => reason !== null,
  );
  await page.getByRole('link', { name: 'All events' }).click();
  const issues = page.getByRole('row', { name: /Issues.*has no signature of this kind/ });
  await issues.getByRole('button', { name: 'Change' }).click();
  await dialog.getByLabel('Seconds that a signature may be old').fill('4000');
  await save();
  await dialog.getByText(/must be at most 3600/).waitFor();
  await dialog.getByLabel('Seconds that a signature may be old').fill('60');
  await dialog.getByLabel('Type of the events').fill('issue.opened');
  await save();
  await dialog.waitFor({ state: 'detached' });
  expect((await asAda.get(`/hooks/${hook.id}`)).body).toMatchObject({
    name: 'Issues',
    tolerance_seconds: 60,
    event_type: 'issue.opened',
    source: hook.source,
  });

  // An event that is sent by hand starts the workflow, and one with the same id does nothing.
  for (const told of ['order.paid is sent.', /order\.paid was sent before/]) {
    await click(page, 'Send an event');
    const fill = (name: string, text: string) =>
      dialog.getByRole('textbox', { name, exact: true }).fill(text);
    await fill('Type', 'order.paid');
    await fill('Source', '/shop');
    await fill('Id', 'by-hand-1');
    await fill('Data', '{"order": 8}');
    await expectFits(page, 'send-event');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText(told).waitFor();
  }
  await page.getByRole('row', { name: /by-hand-1/ }).waitFor();
  await until(
    async () => (await asAda.get(`/runs?workflow_id=${workflow.id}`)).body,
    ({ length }) => length === 2,
  );
  await page.getByRole('link', { name: 'order.paid' }).first().waitFor();
  await page.getByLabel('Type of the event').fill('other');
  await page.getByText('Nothing matches other.').waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('an admin creates a user, who ends other sessions and changes the password', async () => {
  const { page, complaints, open } = await visit(await platform.user('admin'));
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await open('/settings/users');
  await click(page, 'Create a user');
  await dialog.getByLabel('Username').fill('grace');
  await dialog.getByLabel('Email').fill('grace@example.com');
  await dialog.getByLabel('New password').fill('short');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByLabel('New password').and(dialog.locator('[aria-invalid=true]')).waitFor();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  await dialog.getByLabel('New password').fill(password);
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByText('grace is saved.').waitFor();

  const elsewhere = { grant_type: 'password', username: 'grace', password };
  expect((await platform.anonymous.post('/auth/token', elsewhere)).status).toBe(200);
  const own = await visit(null);
  await own.open('/settings/sessions');
  await logIn(own.page, password);
  await own.page.getByRole('row', { name: /program/ }).waitFor();
  await own.page.getByText('this session').waitFor();
  await click(own.page, 'Sign out elsewhere');
  const asked = own.page.getByRole('dialog').filter({ visible: true });
  await asked.getByRole('button', { name: 'Sign out elsewhere' }).click();
  await own.page.getByText('All other sessions have ended.').waitFor();
  await own.page.getByRole('row', { name: /program/ }).waitFor({ state: 'detached' });
  await own.page.keyboard.press('g');
  await own.page.keyboard.press('s');
  await own.page.getByLabel('Dark').check();
  expect(await own.page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
  await own.page.getByLabel('Current password').fill(password);
  await own.page.getByLabel('New password').fill(`${password} anew`);
  await click(own.page, 'Change it');
  await heading(own.page, 'Log in to Cadenza').waitFor();
  await logIn(own.page, `${password} anew`);
  await own.page.getByRole('link', { name: 'Inbox' }).waitFor();
  expect(own.complaints.filter((complaint) => !complaint.includes('401'))).toEqual([]);

  await page.getByLabel('Search users').fill('grace');
  await page.getByRole('row', { name: /grace/ }).getByRole('button', { name: 'Change' }).click();
  await dialog.getByLabel('Status').selectOption('Disabled');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /grace.*disabled/ }).waitFor();
  const { body: named } = await asAda.post('/agents', { ...summariser('named'), description: 'For Grace' });
  const graces = page.getByRole('row', { name: /grace/ });
  await graces.getByRole('button', { name: 'More', exact: true }).click();
  await graces.getByRole('button', { name: 'Erase' }).click();
  await dialog.getByText('Stays, without the name').waitFor();
  await dialog.getByText('Texts with the name').waitFor();
  await dialog.getByLabel('Names in texts').selectOption('Replace');
  await dialog.getByLabel('Username').fill('grace');
  await dialog.getByRole('button', { name: 'Erase' }).click();
  await dialog.getByText('What became of the data of grace').waitFor();
  // What a busy machine did not do while the request waited; the report is read anew.
  const fork = () => platform.orm.em.fork();
  await continueErasures({ fork, files: platform.app.deps.files }, 60_000);
  await dialog.getByText('Texts in which the name is replaced').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByText(/The data of grace is erased|rest follows within seconds/).waitFor();
  expect((await asAda.get(`/agents/${named.id}`)).body.description).toMatch(/^For erased-/);
  await page.getByRole('link', { name: 'Health' }).click();
  await page.getByText('Database').waitFor();
  await page.getByText('No backup has been taken with cadenza server backup.').waitFor();
  const link = page.getByRole('link', { name: 'docs/operations.md#back-up-by-timetable' });
  const [opened] = await Promise.all([page.waitForEvent('popup'), link.click()]);
  await opened.getByRole('heading', { name: 'Back up by timetable' }).waitFor();
  await opened.close();
  await recordedBackup(
    () => platform.orm.em.fork(),
    { place: '/backups/monday' },
    async () => ({ total_bytes: 12_345_678 }),
  );
  await page.getByText('/backups/monday').waitFor();
  await page.getByText('12.3 MB, took').waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('an owner limits an agent and sees what it has used; an admin sets prices', async () => {
  const { body: agent } = await asAda.post('/agents', {
    ...summariser('limited'),
    configuration: { endpoint: service.url },
  });
  const { page, complaints, open } = await visit(ada);
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await open(`/agents/${agent.id}`);
  await click(page, 'Set a budget');
  await dialog.getByLabel('Invocations').fill('1');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('0 of 1').waitFor();
  await click(page, 'Set limits');
  await dialog.getByLabel('Calls at once').fill('4');
  await dialog.getByLabel('Failures until the circuit opens').fill('2');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('4 calls at once, the circuit opens after 2 failures').waitFor();
  await platform.orm.em
    .fork()
    .execute(`insert into agent_gate (agent_id, circuit, trial_at) values (?, 'open', '2100-01-01')`, [
      agent.id,
    ]);
  await page.reload();
  await page.getByText('The circuit is open').waitFor();
  await click(page, 'Close the circuit');
  await page.getByText('The circuit is closed').waitFor();
  const { body: run } = await asAda.post(`/agents/${agent.id}/invoke`, { input: { text: 'long' } });
  await endOf(asAda, run);
  await open('/settings/budgets');
  const row = page.getByRole('row', { name: /Agent limited/ });
  await row.getByText('1 of 1').waitFor();
  await row.getByRole('button', { name: 'Raise' }).click();
  await dialog.getByLabel('By invocations').fill('2');
  await dialog.getByRole('button', { name: 'Raise' }).click();
  await row.getByText('1 of 3').waitFor();
  await open('/settings/usage?by=agent');
  await page.getByRole('row', { name: /limited 1/ }).waitFor();
  const csv = await page.getByRole('link', { name: 'As CSV' }).getAttribute('href');
  const table = (await page.evaluate(`fetch(${JSON.stringify(csv)}).then((r) => r.text())`)) as string;
  expect(table.split('\r\n').filter((line) => line.includes('limited'))).toHaveLength(1);
  await open('/settings/limits');
  await page.getByRole('row', { name: /Uploaded files .*\/ 10,000/ }).waitFor();
  await keepPicture(page, 'console-usage');
  expect(complaints).toEqual([]);

  const admin = await visit(await platform.user('admin'));
  await admin.open('/settings/prices');
  await click(admin.page, 'Add a price');
  const form = admin.page.getByRole('dialog').filter({ visible: true });
  await form.getByLabel('Model').fill('small');
  await form.getByLabel('Input', { exact: false }).first().fill('0.15');
  await form.getByLabel('Output', { exact: false }).fill('0.6');
  await form.getByRole('button', { name: 'Save' }).click();
  await admin.page.getByRole('row', { name: /small any 0.15/ }).waitFor();
  expect(admin.complaints).toEqual([]);
});

inBrowser('an owner sees the queue of external workers, and makes and ends their tokens', async () => {
  const { body: agent } = await asAda.post('/agents', {
    ...summariser('pulled'),
    execution_type: 'edge',
    configuration: {},
  });
  await asAda.post(`/agents/${agent.id}/invoke`, { input: { text: 'long' } });
  const jobs = async (): Promise<unknown[]> => (await asAda.get(`/agents/${agent.id}/jobs`)).body;
  await until(jobs, ({ length }) => length === 1);
  await asAda.post(`/agents/${agent.id}/jobs/poll`, { worker: 'arm-1', wait_seconds: 20 });
  await asAda.post(`/agents/${agent.id}/invoke`, { input: { text: 'longer' } });
  await until(jobs, ({ length }) => length === 2);
  const { page, complaints, open } = await visit(ada);
  await open(`/agents/${agent.id}`);
  await page.getByText('1 job waits, 1 under way').waitFor();
  await page.getByRole('row', { name: /under way · arm-1/ }).waitFor();
  await click(page, 'New token');
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await dialog.getByLabel('Name').fill('plant 7');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByText('The token is shown only now:').waitFor();
  await page
    .getByRole('row', { name: /plant 7/ })
    .getByRole('button', { name: 'End' })
    .click();
  await dialog.getByRole('button', { name: 'End' }).click();
  await page.getByText('No tokens yet').waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('an owner evaluates an agent, and sees the report and the cases', async () => {
  const { body: agent } = await asAda.post('/agents', {
    ...summariser('tried'),
    configuration: { endpoint: service.url },
  });
  const { page, complaints, open } = await visit(ada);
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await open(`/agents/${agent.id}?view=evaluate`);
  await click(page, 'New evaluation');
  const choose = (name: string, text: string) =>
    dialog.getByLabel('Data set').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
  await dialog.getByLabel('Name', { exact: false }).first().fill('First try');
  await choose('cases.csv', 'text,weight\na,heavy');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await dialog
    .getByText(/Line 2\/weight/)
    .first()
    .waitFor();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  await choose('cases.csv', 'id,text,expected\nshort,a,never');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('heading', { name: 'First try' }).waitFor();
  const [started] = (await asAda.get(`/agents/${agent.id}/evaluations`)).body;
  await endOf(asAda, { id: started.run_id });
  await platform.reconcile();
  await page.getByRole('row', { name: /^1\.0\.0 0 % 0 \/ 1 \/ 0/ }).waitFor();
  await page.getByText('1.0.0: failed, expected').click();
  await page.getByText('Output of 1.0.0').waitFor();
  await click(page, 'Try errors and failed cases again');
  await page.getByRole('button', { name: 'The one before' }).waitFor();
  const [again] = (await asAda.get(`/agents/${agent.id}/evaluations`)).body;
  expect(again).toMatchObject({ retry_of: started.id, status: 'running' });
  await endOf(asAda, { id: again.run_id });
  // Of the file that was no data set nothing is left.
  const { body: files } = await asAda.get('/files');
  expect(files.map(({ name }: { name: string }) => name)).toEqual(['cases.csv']);
  await asAda.delete(`/files/${files[0].id}`);
  expect(complaints).toEqual([]);
});

inBrowser('agents are imported from a document, checked, and connected to other programs', async () => {
  const { page, complaints, open } = await visit(ada);
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await open('/agents');
  await click(page, 'Import');
  await dialog.getByLabel('From', { exact: false }).selectOption('openapi');
  await dialog.getByLabel('Address').fill(`${service.url}/none.json`);
  await click(page, 'Show what it offers');
  await dialog
    .getByText(/document/i)
    .last()
    .waitFor();
  expect(complaints.splice(0)).toEqual([expect.stringContaining('422')]);
  await dialog.getByLabel('Address').fill(`${service.url}${DOCUMENT}`);
  await click(page, 'Show what it offers');
  const plan = dialog.getByRole('list', { name: 'What it offers' });
  await plan.getByLabel('putPet').uncheck();
  await click(page, 'Import 1');
  await plan.getByRole('link', { name: 'getPet' }).click();
  await heading(page, 'getPet').waitFor();
  await page.getByText(`openapi: ${service.url}${DOCUMENT} (getPet)`).waitFor();
  await page.getByText('Not checked yet.').waitFor();
  // Not as wide as the page.
  const checkNow = await page.getByRole('button', { name: 'Check now' }).boundingBox();
  expect(checkNow?.width).toBeLessThan(200);
  await click(page, 'Check now');
  await page
    .getByRole('status')
    .getByText(/It works \(\d+ ms\)/)
    .waitFor();
  await click(page, 'Look for changes');
  await page.getByText('Nothing has changed at the source.').waitFor();
  // What is shown is what MCP clients and chat programs take.
  const [mcp = '', chat = ''] = await Promise.all(
    ['MCP', 'OpenAI'].map((of) =>
      page
        .locator('pre')
        .filter({ hasText: of === 'MCP' ? 'mcpServers' : 'base_url' })
        .innerText(),
    ),
  );
  const [{ id }] = (await asAda.get('/agents?name=getPet')).body;
  const origin = new URL(page.url()).origin;
  expect(JSON.parse(mcp)).toEqual({ mcpServers: { cadenza: { type: 'http', url: `${origin}/mcp` } } });
  expect(JSON.parse(chat)).toMatchObject({ base_url: `${origin}/v1`, model: id });
  expect((await asAda.get(`/v1/models/${id}`)).body).toMatchObject({ id });
  await page.reload();
  await page
    .getByRole('status')
    .getByText(/It works/)
    .waitFor();
  expect(complaints).toEqual([]);
});

inBrowser('conversations are found, read, continued and forgotten', async () => {
  const model = await startScriptedModel();
  try {
    model.script((_request, turn) => ({ text: `Answer ${turn}: otters hold hands` }));
    const { body: agent } = await asAda.post('/agents', {
      name: 'talker',
      type: 'llm',
      version: '1.0.0',
      visibility: 'private',
      configuration: { base_url: `${model.url}/v1`, model: 'tiny' },
    });
    for (const session of ['about otters', 'about bees'])
      await endOf(
        asAda,
        (await asAda.post(`/agents/${agent.id}/invoke`, { input: `Tell me ${session}`, session })).body,
      );
    const { page, complaints, open } = await visit(ada);
    await open('/agents');
    await page.getByRole('link', { name: 'Conversations' }).click();
    await heading(page, 'Conversations').waitFor();
    await page.getByText('about bees', { exact: false }).first().waitFor();
    await page.getByRole('searchbox').fill('me about otters');
    await page.getByText('about bees', { exact: false }).first().waitFor({ state: 'detached' });
    await page.getByText('with talker, 2 messages').click();
    await page.getByText('Tell me about otters', { exact: true }).waitFor();
    await page.getByText(/otters hold hands/).waitFor();
    await keepPicture(page, 'settings-conversation');
    await page.getByRole('link', { name: 'Continue' }).click();
    await heading(page, 'talker').waitFor();
    expect(await page.getByLabel('Conversation', { exact: false }).first().inputValue()).toBe('about otters');
    await page.goBack();
    await click(page, 'Forget');
    await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
    await page.getByText('Nothing matches').waitFor();
    expect((await asAda.get('/conversations')).body).toMatchObject([
      { session: 'about bees', agent_name: 'talker' },
    ]);
    expect(complaints).toEqual([]);
  } finally {
    await model.close();
  }
});

inBrowser('people choose what mails tell them of, and hours in which nothing is sent', async () => {
  const { page, complaints, open } = await visit(ada);
  const settings = async () => (await asAda.get('/notifications/settings')).body;
  await open('/settings/notifications');
  const mail = page.getByRole('group', { name: 'By mail' });
  await mail.getByLabel('Reminder').uncheck();
  const quiet = page.getByRole('group', { name: 'Quiet hours' });
  await quiet.getByLabel('From').fill('10pm');
  await click(page, 'Save');
  await quiet.getByText('From in Quiet hours must have a format such as 22:00').waitFor();
  await quiet.getByText('Until in Quiet hours is missing').waitFor();
  await quiet.getByLabel('From').fill('22:00');
  await quiet.getByLabel('Until').fill('07:00');
  await click(page, 'Save');
  await page.getByText('Saved.').waitFor();
  expect(await settings()).toMatchObject({
    mail: { reminder: false, assigned: true },
    quiet_hours: { from: '22:00', to: '07:00' },
  });
  await open('/settings/notifications');
  expect(await mail.getByLabel('Reminder').isChecked()).toBe(false);
  await quiet.getByLabel('From').fill('');
  await quiet.getByLabel('Until').fill('');
  await click(page, 'Save');
  await until(settings, ({ quiet_hours: hours }) => !hours);
  expect(complaints).toEqual([]);
});

inBrowser('every screen is accessible and fits, on a desk and on a phone, light and dark', async () => {
  await asAda.put('/secrets/SERVICE_KEY', { value: 'not-to-be-shown' });
  await asAda.post('/webhooks', { url: service.url });
  const { body: agent } = await asAda.post('/agents', {
    ...summariser('shown'),
    visibility: 'public',
    budget: { max_cost_usd: 20, max_invocations: 100, window: 'month' },
  });
  await asAda.put('/secrets/HOOK_KEY', { value: 'long enough to sign with' });
  const { body: hook } = await asAda.post('/hooks', { name: 'Issues', scheme: 'github', secret: 'HOOK_KEY' });
  await fetch(hook.url, { method: 'POST', body: '{}' });
  const source = `https://till.example.com/${'long-path/'.repeat(12)}`;
  const long = { id: `sha256:${'0123456789abcdef'.repeat(4)}`, source, type: 'of.a.long.source' };
  const json = { headers: { 'content-type': 'application/cloudevents+json' } };
  expect((await asAda.post('/events', { specversion: '1.0', ...long }, json)).status).toBe(202);
  // The browser itself notes that one of the screens asks for an agent that does not exist.
  await expectScreensFit((viewport) => visit(ada, { viewport }), screensOf(agent.id), '404');
});

inBrowser('the screens of admins are accessible and fit too', async () => {
  const admin = await platform.createUser({ username: 'root', roles: ['admin'] });
  const asAdmin = await platform.as(admin);
  const issuer = { name: 'corp', title: 'Corp', issuer: 'https://login.example.com/realms/corp' };
  const made = await asAdmin.post('/identity-issuers', { ...issuer, client_id: 'cadenza' });
  expect(made.status).toBe(201);
  // The name in the list is none that stands above it before the list is there.
  await asAdmin.patch(`/users/${admin.id}`, { display_name: 'Ruth' });
  await expectScreensFit(
    (viewport) => visit(admin, { viewport }),
    [
      ['settings-issuers', '/settings/issuers', 'Corp (corp)'],
      ['settings-users', '/settings/users', 'root (Ruth)'],
      ['settings-user', `/settings/users/${admin.id}`, 'No machine clients.'],
      ['settings-teams', '/settings/teams', 'Teams'],
    ],
    // The browser itself notes that the user has handed over nothing.
    '404',
  );
});

function screensOf(agentId: string): Screen[] {
  return [
    ['agents', '/agents', 'shown'],
    ['agents-none', '/agents?q=nothing-like-this', 'Nothing matches'],
    ['agent', `/agents/${agentId}`, 'X-Key'],
    ['agent-trial', `/agents/${agentId}?view=try`, 'Invoke'],
    ['agent-versions', `/agents/${agentId}?view=versions`, 'New draft'],
    ['agent-skills', `/agents/${agentId}?view=skills`, 'Summarise'],
    ['agent-runs', `/agents/${agentId}?view=runs`, 'You have no run'],
    ['agent-card', `/agents/${agentId}?view=card`, 'A2A address'],
    ['agent-evaluations', `/agents/${agentId}?view=evaluate`, 'No evaluations yet'],
    ['agent-new', '/agents/new', 'How it is called'],
    ['agent-edit', `/agents/${agentId}/edit`, 'How it is called'],
    ['settings-profile', '/settings', 'Change your password'],
    ['settings-notifications', '/settings/notifications', 'Expires soon'],
    ['settings-sessions', '/settings/sessions', 'this session'],
    ['settings-security', '/settings/security', 'Authenticator app'],
    ['settings-tokens', '/settings/tokens', 'Create a token'],
    ['settings-clients', '/settings/clients', 'Create a client'],
    ['settings-audit', '/settings/audit', 'newest first'],
    ['settings-secrets', '/settings/secrets', 'SERVICE_KEY'],
    ['settings-webhooks', '/settings/webhooks', 'Send a test'],
    ['settings-events', '/settings/events', 'Create an inbound webhook'],
    ['settings-files', '/settings/files', 'Upload'],
    ['settings-conversations', '/settings/conversations', 'about bees'],
    ['settings-usage', '/settings/usage', 'What agents have used'],
    ['settings-limits', '/settings/limits', 'Runs that are not over'],
    ['settings-budgets', '/settings/budgets', 'Agent shown'],
    ['settings-prices', '/settings/prices', 'US dollars for a million tokens'],
    ['settings-health', '/settings/health', 'Database'],
    ['agent-missing', '/agents/0197a1b2-0000-7000-8000-000000000001', 'There is no such agent'],
  ];
}
