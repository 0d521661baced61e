import { expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { AgentCall, PartialRedaction, PartialSink } from '../../../domain/ports.ts';
import { agentCall, faultOf, noFiles } from '../../support/agent-call.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { startStreamingModel, type StreamingModel } from '../../support/streaming-model.ts';

const opened = closedAfterEach();

/** An OpenAI-compatible server that answers with `content`. */
async function model(content: string | ((body: any) => string), status = 200): Promise<TestServer> {
  const started = await startServer((request, response) => {
    if (status !== 200)
      return sendJson(
        response,
        { error: { message: `no: ${request.headers.authorization}`, type: 'x' } },
        status,
      );
    sendJson(response, {
      id: 'c1',
      object: 'chat.completion',
      created: 1,
      model: 'tiny-2026',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: typeof content === 'string' ? content : content(JSON.parse(request.body)),
          },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 },
    });
  });
  opened(started);
  return started;
}

function invoke(call: AgentCall) {
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  return createAdapters({ egress }).invoke(call);
}

const llm = (target: TestServer, more: Record<string, unknown> = {}) => ({
  type: 'llm',
  configuration: { base_url: `${target.url}/v1`, model: 'tiny', ...more },
});
const bodyOf = (target: TestServer, index = 0) => JSON.parse(target.seen[index]?.body ?? '{}');

test('a string is the prompt, and text, model and usage come back', async () => {
  const target = await model('Hello!');
  const result = await invoke(
    agentCall(
      llm(target, { system: 'Be kind.', temperature: 0.5, max_tokens: 50, api_key: '<LLM_KEY>' }),
      'Hi',
      { secrets: { LLM_KEY: 'sk-very-secret' } },
    ),
  );
  expect(result.output).toEqual({ text: 'Hello!', finish_reason: 'stop', model: 'tiny-2026' });
  expect(result.usage).toMatchObject({
    input_tokens: 11,
    output_tokens: 5,
    total_tokens: 16,
    requests: 1,
    model: 'tiny-2026',
  });
  expect(target.seen[0]).toMatchObject({
    path: '/v1/chat/completions',
    headers: { authorization: 'Bearer sk-very-secret', 'idempotency-key': 'run-1/do/0/call/1/1' },
  });
  expect(bodyOf(target)).toMatchObject({
    model: 'tiny',
    temperature: 0.5,
    max_tokens: 50,
    messages: [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Hi' },
    ],
  });
});

test('an input can be a prompt, messages, values for a template, or any JSON', async () => {
  const target = await model('ok');
  await invoke(agentCall(llm(target), { prompt: 'from prompt' }));
  await invoke(
    agentCall(llm(target), {
      messages: [
        { role: 'system', content: 's' },
        { role: 'user', content: [{ type: 'text', text: 'u' }] },
        { role: 'assistant', content: 'a' },
      ],
    }),
  );
  await invoke(agentCall(llm(target, { prompt: 'Sum up: ${ .text }' }), { text: 'long' }));
  await invoke(agentCall(llm(target), { any: 1 }));
  expect(
    target.seen.map((_, index) =>
      bodyOf(target, index).messages.map(({ role, content }: any) => `${role}:${content}`),
    ),
  ).toEqual([
    ['user:from prompt'],
    ['system:s', 'user:u', 'assistant:a'],
    ['user:Sum up: long'],
    ['user:{"any":1}'],
  ]);
  expect(
    await faultOf(
      invoke(
        agentCall(llm(target), {
          messages: [
            { role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://10.0.0.1/' } }] },
          ],
        }),
      ),
    ),
  ).toMatchObject({ kind: 'validation' });
});

test('files are sent in the form that models take, and other types are refused', async () => {
  const target = await model('ok');
  const stored: Record<string, { name: string; media_type: string; bytes: Buffer }> = {
    '0198c7a0-0000-7000-8000-0000000000a1': {
      name: 'cat.png',
      media_type: 'image/png',
      bytes: Buffer.from('png'),
    },
    '0198c7a0-0000-7000-8000-0000000000a2': {
      name: 'note.md',
      media_type: 'text/markdown; charset=utf-8',
      bytes: Buffer.from('# hi'),
    },
    '0198c7a0-0000-7000-8000-0000000000a3': {
      name: 'a.pdf',
      media_type: 'application/pdf',
      bytes: Buffer.from('pdf'),
    },
    '0198c7a0-0000-7000-8000-0000000000a4': {
      name: 'a.zip',
      media_type: 'application/zip',
      bytes: Buffer.from('zip'),
    },
  };
  const files = { ...noFiles, read: async (id: string) => stored[id] ?? null };
  const [cat, note, pdf, zip] = Object.keys(stored).map((file_id) => ({ file_id }));
  await invoke({
    ...agentCall(llm(target), {
      text: 'What is it?',
      data: { a: 1 },
      files: [cat, note, pdf],
      message_id: 'm',
      context_id: 'c',
    }),
    files,
  });
  const [message] = bodyOf(target).messages;
  expect(message.role).toBe('user');
  expect(message.content).toMatchObject([
    { type: 'text', text: 'What is it?\n{"a":1}' },
    {
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${Buffer.from('png').toString('base64')}` },
    },
    { type: 'text', text: 'note.md:\n# hi' },
    { type: 'file', file: { filename: 'a.pdf' } },
  ]);
  await invoke({
    ...agentCall(llm(target, { prompt: 'Describe: ${ .text }' }), { text: 'x', files: [cat] }),
    files,
  });
  expect(bodyOf(target, 1).messages[0].content).toMatchObject([
    { text: 'Describe: x' },
    { type: 'image_url' },
  ]);
  expect(
    await faultOf(invoke({ ...agentCall(llm(target), { text: '', files: [zip] }), files })),
  ).toMatchObject({ kind: 'validation', detail: expect.stringContaining('application/zip') });
});

const schema = { type: 'object', properties: { mood: { type: 'string' } }, required: ['mood'] };

test('the output schema is sent, and the object is the output', async () => {
  const target = await model('{"mood":"good"}');
  const result = await invoke(agentCall({ ...llm(target), output_schema: schema }, 'How?'));
  expect(result.output).toEqual({ mood: 'good' });
  expect(result.usage).toMatchObject({ total_tokens: 16 });
  expect(bodyOf(target).response_format).toMatchObject({
    type: 'json_schema',
    json_schema: { schema: { properties: { mood: { type: 'string' } } } },
  });
});

test('an answer that does not fit is asked for again once, and both count', async () => {
  const answers = ['{"mood":5}', '{"mood":"good"}', 'no', 'no', 'no'];
  const target = await model(() => answers.shift() ?? '');
  const call = () => invoke(agentCall({ ...llm(target), output_schema: schema }, 'How?'));
  const result = await call();
  expect(result.output).toEqual({ mood: 'good' });
  expect(result.usage).toMatchObject({ requests: 2, input_tokens: 22, total_tokens: 32, model: 'tiny-2026' });
  expect(bodyOf(target, 1).messages.slice(-2)).toEqual([
    { role: 'assistant', content: '{"mood":5}' },
    { role: 'user', content: expect.stringMatching(/^Your answer does not fit: .*mood.*Answer again/) },
  ]);
  // A server that knows the key of the first request takes the second one for another.
  const keys = target.seen.map(({ headers }) => headers['idempotency-key']);
  expect(keys).toEqual(['run-1/do/0/call/1/1', 'run-1/do/0/call/1/1:again']);
  expect(await faultOf(call())).toMatchObject({ kind: 'validation' });
  expect(target.seen).toHaveLength(4);
});

test('a call whose answer cannot be used says what it has cost', async () => {
  const target = await model('no');
  const call = agentCall({ ...llm(target), output_schema: schema }, 'How?');
  await expect(invoke(call)).rejects.toMatchObject({ used: { requests: 2, input_tokens: 22 } });
});

test('in texts for a model the name of no secret is text, and elsewhere an error', async () => {
  const target = await model('ok');
  const texts = { system: 'Answer in <ANSWER>, for <NAME>.', prompt: 'Read <DOCUMENT>${ .text }</DOCUMENT>' };
  const secret = async (name: string) => (name === 'NAME' ? 'secret-ada' : null);
  const call = agentCall(llm(target, texts), { text: 'it' });
  const result = await invoke({ ...call, secret });
  expect(bodyOf(target).messages).toEqual([
    { role: 'system', content: 'Answer in <ANSWER>, for secret-ada.' },
    { role: 'user', content: 'Read <DOCUMENT>it</DOCUMENT>' },
  ]);
  expect(result.output).toMatchObject({ text: 'ok' });
  const headers = agentCall(llm(target, { headers: { 'X-A': '<MISSING>' } }), 'x');
  expect(await faultOf(invoke({ ...headers, secret }))).toMatchObject({ kind: 'configuration' });
});

test('structured_output selects how the schema is sent to the model', async () => {
  const target = await model('{"mood":"good"}');
  const result = await invoke(
    agentCall(
      { ...llm(target, { structured_output: 'json_object', system: 'Be kind.' }), output_schema: schema },
      'How?',
    ),
  );
  expect(result.output).toEqual({ mood: 'good' });
  expect(bodyOf(target).response_format).toEqual({ type: 'json_object' });
  expect(bodyOf(target).messages[0]).toEqual({ role: 'system', content: expect.stringContaining('"mood"') });
  await invoke(agentCall({ ...llm(target, { structured_output: 'none' }), output_schema: schema }, 'How?'));
  expect(bodyOf(target, 1).response_format).toBeUndefined();
});

test('an object in a fenced block is found, prose is a fault unless the schema asks for text', async () => {
  const fenced = await model('```json\n{"mood":"fine"}\n```');
  expect((await invoke(agentCall({ ...llm(fenced), output_schema: schema }, 'x'))).output).toEqual({
    mood: 'fine',
  });
  const endless = await model(`\`\`\`json${' '.repeat(100_000)}.`);
  expect(await faultOf(invoke(agentCall({ ...llm(endless), output_schema: schema }, 'x')))).toMatchObject({
    kind: 'validation',
  });
  const prose = await model('I feel fine.');
  expect(await faultOf(invoke(agentCall({ ...llm(prose), output_schema: schema }, 'x')))).toMatchObject({
    kind: 'validation',
  });
  expect(
    (
      await invoke(
        agentCall(
          { ...llm(prose), output_schema: { type: 'object', properties: { text: { type: 'string' } } } },
          'x',
        ),
      )
    ).output,
  ).toMatchObject({ text: 'I feel fine.' });
});

test.each([
  [401, 'authentication'],
  [403, 'authorization'],
  [429, 'communication'],
  [500, 'communication'],
])('status %i is a %s fault after one request, and hides the key', async (status, kind) => {
  const target = await model('', status);
  const found = await faultOf(
    invoke(agentCall(llm(target, { api_key: '<LLM_KEY>' }), 'x', { secrets: { LLM_KEY: 'sk-very-secret' } })),
  );
  expect(found).toMatchObject({ kind, status });
  expect(found.detail).not.toContain('sk-very-secret');
  expect(target.seen).toHaveLength(1);
});

test('a broken response, a refused address, a timeout and a cancellation end the call', async () => {
  const nonsense = await startServer(
    (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":'),
  );
  opened(nonsense);
  expect(await faultOf(invoke(agentCall(llm(nonsense), 'x')))).toMatchObject({
    kind: 'communication',
    status: 502,
  });
  expect(
    await faultOf(
      invoke(agentCall({ type: 'llm', configuration: { base_url: 'http://10.0.0.1/v1', model: 'm' } }, 'x')),
    ),
  ).toMatchObject({ kind: 'authorization' });

  const hanging = await startServer(() => undefined);
  opened(hanging);
  expect(await faultOf(invoke(agentCall(llm(hanging, { timeout: 100 }), 'x')))).toMatchObject({
    kind: 'timeout',
  });
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('run cancelled')), 50);
  await expect(invoke(agentCall(llm(hanging), 'x', { signal: controller.signal }))).rejects.toThrow(
    'run cancelled',
  );
});

test('without base_url or model the invocation faults', async () => {
  expect(await faultOf(invoke(agentCall({ type: 'llm' }, 'x')))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('base_url'),
  });
  expect(await faultOf(invoke(agentCall({ type: 'llm', url: 'http://127.0.0.1/' }, 'x')))).toMatchObject({
    kind: 'configuration',
    detail: expect.stringContaining('model'),
  });
});

/** What a sink has got, and the redaction that the adapter gave it. */
function collectingSink() {
  const got = { text: '', redaction: null as PartialRedaction | null };
  const sink: PartialSink = {
    redactBy: (redaction) => (got.redaction = redaction),
    output: (text) => (got.text += text),
    restart: () => (got.text = ''),
    progress: () => {},
  };
  return { got, sink };
}
const streaming = async (options = {}): Promise<StreamingModel> => opened(await startStreamingModel(options));
const streamedLlm = (target: StreamingModel, more: object = {}) =>
  agentCall({ type: 'llm', configuration: { base_url: `${target.url}/v1`, model: 'tiny', ...more } }, 'Hi', {
    secrets: { LLM_KEY: 'sk-very-secret' },
  });

test('a streamed answer arrives in pieces and has the same result', async () => {
  const target = await streaming();
  const { got, sink } = collectingSink();
  const result = invoke({ ...streamedLlm(target, { api_key: '<LLM_KEY>' }), partial: sink });
  await target.begun(1);
  target.say('Hello, ');
  target.say('sk-very-secret');
  target.finish();
  const { output, usage } = await result;
  expect(output).toEqual({ text: 'Hello, <LLM_KEY>', finish_reason: 'stop', model: 'tiny-2026' });
  expect(usage).toMatchObject({ input_tokens: 11, output_tokens: 5, total_tokens: 16, requests: 1 });
  expect(got.redaction?.redact(got.text)).toBe('Hello, <LLM_KEY>');
  expect(target.bodies).toMatchObject([{ stream: true, stream_options: { include_usage: true } }]);
});

test('a streamed answer can be an object, and a server that does not stream gives the same', async () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } };
  const target = await streaming();
  const { got, sink } = collectingSink();
  const call = streamedLlm(target);
  const result = invoke({ ...call, agent: { ...call.agent, output_schema: schema }, partial: sink });
  await target.begun(1);
  target.say('{"city": ');
  target.say('"Rome"}');
  target.finish();
  expect((await result).output).toEqual({ city: 'Rome' });
  expect(got.text).toBe('{"city": "Rome"}');

  const endless = await streaming();
  const spaced = streamedLlm(endless);
  const refused = faultOf(
    invoke({ ...spaced, agent: { ...spaced.agent, output_schema: schema }, partial: collectingSink().sink }),
  );
  await endless.begun(1);
  endless.say('{"city": ');
  for (let n = 0; n < 12; n++) endless.say(' '.repeat(100_000));
  expect(await refused).toMatchObject({ detail: 'The answer has more than 1048576 characters' });

  const whole = await streaming({ never: true });
  const other = await invoke({ ...streamedLlm(whole), partial: collectingSink().sink });
  expect(other.output).toEqual({ text: 'all at once', finish_reason: 'stop', model: 'tiny-2026' });
  expect([other.usage, whole.bodies]).toMatchObject([{ total_tokens: 16 }, [{ stream: true }]]);
});

test('a stream that breaks, is refused or takes too long is a fault', async () => {
  const target = await streaming();
  const broken = faultOf(invoke({ ...streamedLlm(target), partial: collectingSink().sink }));
  await target.begun(1);
  target.say('Half of ');
  target.drop();
  expect(await broken).toMatchObject({ kind: 'communication' });
  const late = invoke({ ...streamedLlm(target), partial: collectingSink().sink, timeoutMs: 300 });
  expect(await faultOf(late)).toMatchObject({ kind: 'timeout' });
  const refusing = await model('', 429);
  const refused = { ...agentCall(llm(refusing), 'Hi'), partial: collectingSink().sink };
  expect(await faultOf(invoke(refused))).toMatchObject({ kind: 'communication', status: 429 });
});
