/**
 * Every file of examples/ runs to its end: installed by examples/install.mjs, with the agents of
 * examples/agents/writer.mjs.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client, TestUser } from '../support/app.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import { startAudioServer, wavOf, type AudioServer } from '../support/audio-server.ts';
import { sendModelAnswer, type ModelRequest, type ScriptedAnswer } from '../support/scripted-model.ts';
import { ownPort } from '../support/machine.ts';
import { startTestPlatform, until, type RunRecord, type TestPlatform } from '../support/platform.ts';

const folder = join(import.meta.dirname, '../../examples');
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length))
  .toSorted();

let platform: TestPlatform;
let builder: Client;
let llm: TestServer;
let audio: AudioServer;
let writer: ChildProcess;
let claim: ChildProcess | undefined;
let writerUrl: string;
let approver: { ada: TestUser; ben: TestUser; dora: TestUser };
let workflows: Record<string, string>;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  const person = (username: string, group: string) =>
    platform.createUser({ username, roles: ['approver'], groups: [group] });
  approver = {
    ada: await person('ada', 'finance'),
    ben: await person('ben', 'finance'),
    dora: await person('dora', 'directors'),
  };
  llm = await startServer((request, response) => {
    const body = JSON.parse(request.body) as ModelRequest;
    if (body.tools) return sendModelAnswer(response, body, clerk(body));
    const { messages } = JSON.parse(request.body) as { messages: { role: string; content: unknown }[] };
    const asked = messages.at(-1)?.content;
    // A message with an image has parts.
    const content =
      typeof asked === 'string'
        ? `In short: ${asked.slice(0, 10)}`
        : JSON.stringify({ shop: 'Tea House', total: JSON.stringify(asked).includes(PHOTO) ? 120 : 0 });
    sendJson(response, {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'tiny',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    });
  });
  audio = await startAudioServer();
  token = (await platform.user('builder')).token;
  writerUrl = await startWriter();
  workflows = await install();
});
afterAll(async () => {
  writer.kill();
  claim?.kill();
  await llm.close();
  await audio.close();
  await platform.close();
});

/** What the model of `answer-customer` does: one tool after the other. */
function clerk({ messages }: ModelRequest): ScriptedAnswer {
  const answers = messages.filter(({ role }) => role === 'tool').length;
  if (answers === 0) return { calls: [{ name: 'find-order', arguments: { order: 17 } }] };
  if (answers === 1) return { calls: [{ name: 'pay-back', arguments: { order: 17, amount: 80 } }] };
  if (answers === 2) return { calls: [{ name: 'translate', arguments: { text: 'Paid', language: 'fr' } }] };
  return { text: `${messages.at(-1).content} (${messages.filter(({ role }) => role === 'user').length})` };
}

async function startWriter(): Promise<string> {
  const url = `http://127.0.0.1:${await ownPort()}`;
  writer = spawn(process.execPath, [join(folder, 'agents/writer.mjs'), url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => writer.stdout?.once('data', resolve));
  return url;
}

/** Installs the examples as a user does. @returns the ids of the workflows by name. */
let token: string;
async function install(): Promise<Record<string, string>> {
  const env = {
    CADENZA: platform.url,
    TOKEN: token,
    WRITER: writerUrl,
    LLM_BASE_URL: `${llm.url}/v1`,
    LLM_MODEL: 'tiny',
    AUDIO_BASE_URL: audio.url,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'install.mjs')], {
    env,
    timeout: 240_000,
  });
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ +/).toReversed()),
  );
}

const start = async (name: string, input: Record<string, unknown>): Promise<RunRecord> => {
  const reply = await builder.post(`/workflows/${workflows[name]}/run`, { input_params: input });
  expect([reply.status, reply.body.problems ?? reply.body.errors ?? []]).toEqual([201, []]);
  return reply.body;
};
const ended = (run: RunRecord): Promise<RunRecord> =>
  until(
    async () => (await builder.get(`/runs/${run['id']}`, { headers: { prefer: 'wait=5' } })).body,
    ({ status }) => ['completed', 'faulted', 'cancelled'].includes(status),
  );
const runToEnd = async (name: string, input: Record<string, unknown>): Promise<RunRecord> =>
  ended(await start(name, input));
const taskOf = async (
  run: RunRecord,
  who: Client,
  ready = (_task: RunRecord): boolean => true,
): Promise<RunRecord> =>
  (
    await until(
      async () => (await who.get(`/hitl/tasks?run_id=${run['id']}`)).body as RunRecord[],
      ([task]) => task !== undefined && ready(task),
    )
  )[0] ?? {};
const decide = async (who: Client, task: RunRecord, body: Record<string, unknown>): Promise<void> => {
  expect((await who.post(`/hitl/tasks/${task['id']}/decision`, body)).status).toBe(200);
};

const PHOTO = Buffer.from('\x89PNG\r\n\x1a\na photo', 'latin1').toString('base64');
const upload = async (name: string, bytes: Buffer): Promise<{ file_id: string }> => {
  const response = await fetch(`${platform.url}/files?name=${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(bytes),
  });
  expect(response.status).toBe(201);
  return { file_id: ((await response.json()) as { id: string }).id };
};

const cases: Record<string, () => Promise<void>> = {
  'check-receipt': async () => {
    const run = await start('check-receipt', {
      receipt: await upload('a.png', Buffer.from(PHOTO, 'base64')),
    });
    const task = await taskOf(run, builder);
    expect(task['title']).toBe('Pay 120 for Tea House?');
    await decide(builder, task, { decision: 'approve' });
    expect(await ended(run)).toMatchObject({
      status: 'completed',
      output: { shop: 'Tea House', total: 120, paid: true },
    });
  },
  'answer-voice-note': async () => {
    const run = await runToEnd('answer-voice-note', { note: await upload('note.wav', wavOf(5, 90)) });
    expect(run).toMatchObject({ status: 'completed', output: { heard: '5-94', said: 'In short: 5-94' } });
    const { recording } = run['output'];
    expect(recording).toMatchObject({ media_type: 'audio/wav', name: 'speech.wav' });
    expect((await builder.get(`/files/${recording.file_id}`)).status).toBe(200);
    expect(run['usage']).toMatchObject({ audio_seconds: 0.9, characters: 14 });
  },
  'review-and-publish': async () => {
    const run = await start('review-and-publish', { topic: 'Otters' });
    const task = await taskOf(run, builder);
    expect((await builder.get(`/hitl/tasks/${task['id']}`)).body.context).toMatchObject([
      { name: 'draft', status: 'completed', value: { text: expect.any(String) } },
      { name: 'topic', value: 'Otters' },
    ]);
    await decide(builder, task, { decision: 'approve' });
    expect(await ended(run)).toMatchObject({
      status: 'completed',
      output: { published: true, url: 'https://example.com/posts/Otters' },
    });
    const named = await start('review-and-publish', { topic: 'Otters' });
    const payload = { headline: 'At home' };
    await decide(builder, await taskOf(named, builder), { decision: 'approve', payload });
    expect((await ended(named))['output']).toMatchObject({ url: 'https://example.com/posts/At%20home' });
    const rejected = await start('review-and-publish', { topic: 'Newts' });
    await decide(builder, await taskOf(rejected, builder), { decision: 'reject', comment: 'No newts' });
    expect(await ended(rejected)).toMatchObject({
      status: 'completed',
      output: { published: false, why: 'No newts' },
    });
  },
  'approve-with-quorum': async () => {
    const [ada, ben, dora] = [
      await platform.as(approver.ada),
      await platform.as(approver.ben),
      await platform.as(approver.dora),
    ];
    expect((await runToEnd('approve-with-quorum', { what: 'tea', amount: 5 }))['output'].granted).toBe(true);
    const run = await start('approve-with-quorum', {
      what: 'a piano',
      amount: 20_000,
      escalate_after: 'PT1S',
    });
    const task = await taskOf(run, ada);
    expect(task).toMatchObject({ title: 'Spend 20000 on a piano?', priority: 90 });
    await decide(ada, task, { decision: 'approve' });
    // The director sees the task once it has escalated.
    await decide(dora, await taskOf(run, dora, ({ escalation_level }) => escalation_level === 1), {
      decision: 'approve',
    });
    expect(await ended(run)).toMatchObject({
      status: 'completed',
      output: { granted: true, by: [approver.ada.id, approver.dora.id] },
    });
    const forgotten = await start('approve-with-quorum', {
      what: 'a harp',
      amount: 500,
      expire_after: 'PT1S',
    });
    expect(await ended(forgotten)).toMatchObject({ status: 'completed', output: { granted: false } });
    const refused = await start('approve-with-quorum', { what: 'a gong', amount: 500 });
    await decide(ben, await taskOf(refused, ben), { decision: 'reject', comment: 'Too loud' });
    expect(await ended(refused)).toMatchObject({
      status: 'completed',
      output: { granted: false, comment: 'Too loud' },
    });
  },
  'parallel-research': async () => {
    const { output } = await runToEnd('parallel-research', { topic: 'tea' });
    expect(output).toEqual({
      topic: 'tea',
      findings: [
        'What history says about tea',
        'What science says about tea',
        'What economics says about tea',
      ],
      by_angle: {
        history: 'What history says about tea',
        science: 'What science says about tea',
        economics: 'What economics says about tea',
      },
    });
  },
  'retry-with-backoff': async () => {
    expect((await runToEnd('retry-with-backoff', { service: writerUrl, key: 'a' }))['output']).toEqual({
      answered_after: 3,
    });
    const { status, output } = await runToEnd('retry-with-backoff', {
      service: writerUrl,
      key: 'b',
      failures: 9,
    });
    expect([status, output.answered_after]).toEqual(['completed', null]);
  },
  saga: async () => {
    expect((await runToEnd('saga', { service: writerUrl }))['output']).toEqual({
      booked: { hotel: 'hotel-1', flight: 'flight-1', car: 'car-1' },
    });
    const { output } = await runToEnd('saga', { service: writerUrl, full: 'car' });
    expect(output).toMatchObject({ booked: null, undone: ['flight-1', 'hotel-1'] });
    expect((await runToEnd('saga', { service: writerUrl, full: 'flight' }))['output'].undone).toEqual([
      'hotel-1',
    ]);
  },
  'competing-agents': async () => {
    const run = await runToEnd('competing-agents', {});
    expect(run['output']).toEqual({ winner: 'left' });
    expect(run['tasks'].find((task: RunRecord) => task['name'] === 'right').status).toBe('cancelled');
    expect((await runToEnd('competing-agents', { left_ms: 20_000, right_ms: 100 }))['output']).toEqual({
      winner: 'right',
    });
  },
  'loop-over-list': async () => {
    expect((await runToEnd('loop-over-list', { texts: ['one', 'two', 'three'] }))['output']).toEqual({
      translated: ['1. [fr] one', '2. [fr] two', '3. [fr] three'],
      left_out: 0,
    });
    expect(
      (await runToEnd('loop-over-list', { texts: ['one', 'two', 'three'], language: 'de', budget: 4 }))[
        'output'
      ],
    ).toEqual({ translated: ['1. [de] one', '2. [de] two'], left_out: 1 });
  },
  'translate-one': async () => {
    expect((await runToEnd('translate-one', { text: 'tea', language: 'de' }))['output']).toEqual({
      text: '[de] tea',
    });
  },
  'child-workflows': async () => {
    const run = await runToEnd('child-workflows', { text: 'tea' });
    expect(run).toMatchObject({ status: 'completed', output: { texts: ['[fr] tea', '[de] tea'] } });
    const children = (await builder.get(`/runs?parent_run_id=${run['id']}`)).body;
    expect(children.map((child: RunRecord) => [child['workflow_name'], child['status']])).toEqual([
      ['translate-one', 'completed'],
      ['translate-one', 'completed'],
    ]);
  },
  timeouts: async () => {
    expect((await runToEnd('timeouts', { delay_ms: 20_000 }))['output']).toEqual({ name: 'nobody in time' });
    expect((await runToEnd('timeouts', { delay_ms: 1 }))['output']).toEqual({ name: 'slow' });
  },
  'http-with-secrets': async () => {
    const run = await runToEnd('http-with-secrets', { service: writerUrl, item: 'tea' });
    expect(run).toMatchObject({ status: 'completed', output: { ordered: 'tea' } });
    expect(JSON.stringify(run)).not.toContain('the-token-of-the-order-service');
  },
  'score-with-script': async () => {
    const good = await runToEnd('score-with-script', { answers: { speed: '4', price: '3' } });
    expect(good).toMatchObject({ status: 'completed', output: { score: 7, best: 'speed' } });
    const bad = await runToEnd('score-with-script', { answers: { speed: 'fast' } });
    expect(bad).toMatchObject({
      status: 'completed',
      output: { score: null, why: expect.stringContaining('speed is no number: fast') },
    });
  },
  'summarise-and-confirm': async () => {
    const run = await start('summarise-and-confirm', { text: 'Tea is a drink made of leaves.' });
    const task = await taskOf(run, builder);
    expect(task['subject'].summary).toBe('In short: Tea is a d');
    await decide(builder, task, { decision: 'correct', payload: { summary: 'Leaves in water.' } });
    const done = await ended(run);
    expect(done).toMatchObject({
      status: 'completed',
      output: { summary: 'Leaves in water.', corrected: true },
    });
    expect(done['tasks'][0].usage).toMatchObject({ total_tokens: 10, model: 'tiny' });
  },
  'answer-customer': async () => {
    for (const [amount, told] of [
      [30, '{"text":"[fr] Paid"} (1)'],
      [undefined, '{"text":"[fr] Paid"} (2)'],
    ] as const) {
      const run = await start('answer-customer', { customer: 'ada', message: 'My kettle broke, order 17' });
      const task = await taskOf(run, builder);
      expect(task['subject']).toEqual({ tool: 'pay-back', arguments: { order: 17, amount: 80 } });
      const payload = amount === undefined ? {} : { arguments: { order: 17, amount } };
      await decide(builder, task, { decision: 'approve', payload });
      const done = await ended(run);
      expect(done).toMatchObject({ status: 'completed', output: { answer: told } });
      const log = (await builder.get(`/runs/${run['id']}/logs?limit=200`)).body as RunRecord[];
      const paid = log.find(({ data }) => data['name'] === 'pay-back' && data['output'] !== undefined);
      expect(paid?.['data'].output).toEqual({ order: 17, paid_back: amount ?? 80 });
    }
  },
  'revise-until-approved': async () => {
    const run = await start('revise-until-approved', { topic: 'Tea' });
    await decide(builder, await taskOf(run, builder), { decision: 'reject', comment: 'shorter' });
    const second = await taskOf(run, builder, ({ title }) => title.startsWith('Draft 2'));
    expect(second['subject']).toContain('(shorter)');
    await decide(builder, second, { decision: 'approve' });
    expect(await ended(run)).toMatchObject({ status: 'completed', output: { drafts: 2 } });
    const hopeless = await start('revise-until-approved', { topic: 'Mud' });
    for (const number of [1, 2, 3]) {
      await decide(
        builder,
        await taskOf(hopeless, builder, ({ title }) => title.startsWith(`Draft ${number}`)),
        { decision: 'reject', comment: `no ${number}` },
      );
    }
    expect(await ended(hopeless)).toMatchObject({
      status: 'faulted',
      error: { status: 422, detail: 'The last remark was: no 3', instance: '/do/4/give_up' },
    });
  },
  'workflow-as-agent': async () => {
    expect((await runToEnd('workflow-as-agent', { text: 'tea' }))['output']).toEqual({ text: '[FR] TEA' });
  },
};

describe('examples/', () => {
  test('are all tested here and described in their README', () => {
    expect(Object.keys(cases).toSorted()).toEqual(names);
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    expect(names.filter((name) => !readme.includes(`| [${name}](${name}.json) `))).toEqual([]);
  });

  test('have their name and their purpose in their document', () => {
    for (const name of names) {
      const { document } = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as {
        document: { name: string; title?: string };
      };
      expect([name, document.name, (document.title ?? '').length > 20]).toEqual([name, name, true]);
    }
  });

  test('are installed only once', async () => {
    expect(await install()).toEqual(workflows);
  });

  test.each(names)('run to their end: %s', async (name) => {
    await expect(cases[name]?.()).resolves.toBeUndefined();
  });

  test('settle a claim with agents of nine kinds and a person, as its command does', async () => {
    const players = `http://127.0.0.1:${await ownPort()}`;
    const program = spawn(process.execPath, [join(folder, 'claim/run.mjs')], {
      env: { CADENZA: platform.url, TOKEN: token, PLAYERS: players },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    claim = program;
    let said = '';
    program.stdout.setEncoding('utf8').on('data', (text) => (said += text));
    const over = new Promise((resolve) => program.once('exit', resolve));
    const id = await until(
      async () => /^task (\S+): /m.exec(said)?.[1],
      (task) => task !== undefined || program.exitCode !== null,
    );
    expect([id === undefined, said]).toEqual([false, expect.any(String)]);
    const task = (await builder.get(`/hitl/tasks/${id}`)).body;
    expect(task).toMatchObject({
      title: 'Pay 480 to Mara Lind?',
      subject: {
        said: expect.stringContaining('kitchen ceiling'),
        damage: { room: 'kitchen', square_metres: 1.5 },
        policy: { policy: '4471', flat: '12' },
        moisture: 38,
        inspection: { cause: 'A pipe above flat 12 leaks' },
        offer: { price: 630 },
        advice: { advice: 'pay', reason: 'Words and photo agree, and the meter says 38 %.' },
      },
    });
    await decide(builder, task, { decision: 'approve', payload: { amount: 500 } });
    expect(await over).toBe(0);
    const { status, output } = JSON.parse(said.slice(said.indexOf('{'))) as RunRecord;
    expect({ status, output }).toEqual({
      status: 'completed',
      output: { paid: 500, reference: expect.stringMatching(/^[0-9a-f]{8}$/) },
    });
    const run = (await builder.get(`/runs/${task['run_id']}`)).body;
    expect(run['tasks'].every((each: RunRecord) => each['status'] === 'completed')).toBe(true);
    const agents = JSON.parse(readFileSync(join(folder, 'claim/agents.json'), 'utf8')) as RunRecord[];
    expect(new Set(agents.map(({ execution_type, type }) => execution_type ?? type)).size).toBe(9);
    for (const { name } of agents) {
      const [found] = (await builder.get(`/agents?name=${name}`)).body as RunRecord[];
      const { warnings } = (await builder.get(`/agents/${found?.['id']}`)).body;
      expect({ name, warnings }).toEqual({ name, warnings: [] });
    }
  });

  test('fill an instance for a demonstration, once', async () => {
    const { fillDemo } = (await import(join(folder, 'demo.mjs'))) as {
      fillDemo(options: { cadenza: string; token: string; writer: string }): Promise<Demo>;
    };
    const fill = async (): Promise<Demo> =>
      fillDemo({
        cadenza: platform.url,
        token: (await platform.user('admin')).token,
        writer: writerUrl,
      });
    const demo = await fill();
    // Ada and Dora exist here already.
    expect(demo.people.map(({ username }) => username)).toEqual(['grace']);
    const admin = await platform.as('admin');
    // What the demo says of its people is true: each of them may decide something.
    const { id: grace } = (await admin.get('/users?q=grace')).body[0];
    for (const person of [approver.ada, approver.dora])
      await until(
        async () => (await (await platform.as(person)).get('/hitl/tasks?status=open')).body,
        (tasks) => tasks.some(({ can }: RunRecord) => (can as string[]).includes('decide')),
      );
    expect((await admin.patch(`/users/${grace}`, { groups: [], roles: ['viewer'] })).status).toBe(200);
    const owner = (await platform.user('admin')).id;
    const runs = await until(
      async () => {
        const all = (await admin.get('/runs?limit=200')).body as RunRecord[];
        return all.filter((run) => run['owner_id'] === owner);
      },
      (all) => all.every(({ status }) => !['pending', 'running'].includes(status)),
    );
    expect(runs.filter((run) => run['parent_run_id'] === null).length).toBe(demo.runs);
    expect(new Set(runs.map(({ status }) => status))).toEqual(
      new Set(['completed', 'faulted', 'cancelled', 'waiting']),
    );
    const items = (await admin.get(`/marketplace/items?publisher=${owner}`)).body as RunRecord[];
    expect(items.map(({ name, status }) => `${name} ${status}`).toSorted()).toEqual([
      'researcher approved',
      'translator approved',
      'writer-draft submitted',
    ]);
    const note =
      'grace exists already and is not in finance and does not have the role approver: ' +
      'some tasks are for others.';
    expect(await fill()).toEqual({ people: [], notes: [note], runs: 0 });
  });
});

interface Demo {
  people: { username: string; password: string }[];
  notes: string[];
  runs: number;
}
