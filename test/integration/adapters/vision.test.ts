/** Agents of kind `vision` against a server that speaks the wire format of OpenAI. */
import { beforeEach, expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { AgentCall } from '../../../domain/ports.ts';
import { agentCall, faultOf } from '../../support/agent-call.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { startServer } from '../../support/http-server.ts';
import { memoryFiles, type MemoryFiles } from '../../support/memory-files.ts';
import { startModelServer, type ModelServer } from '../../support/model-server.ts';

const opened = closedAfterEach();
let server: ModelServer;
let files: MemoryFiles;

beforeEach(async () => {
  server = opened(await startModelServer('openai-compatible'));
  files = memoryFiles();
});

function invoke(call: AgentCall) {
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  return createAdapters({ egress }).invoke(call);
}
const vision = (input: unknown, configuration: object = {}, agent: object = {}): AgentCall => ({
  ...agentCall(
    {
      type: 'vision',
      configuration: { base_url: `${server.url}/v1`, model: 'tiny', ...configuration },
      ...agent,
    },
    input,
  ),
  files,
});
const png = (size = 20) =>
  Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(size, 'p')]);
const jpeg = Buffer.from('ffd8ffe000104a46', 'hex');
const gif = Buffer.from('GIF89a....');
const webp = Buffer.from('RIFF\x04\0\0\0WEBPVP8 ', 'latin1');
const add = (bytes: Buffer, name = 'a.png', media_type = 'application/octet-stream') =>
  files.add(bytes, { name, media_type });
/** What the model has got: its text, and its images. */
function got(index = 0): { text: string | null; images: string[] } {
  const { messages } = JSON.parse(server.seen[index]?.body ?? '{}');
  const { content } = messages.at(-1);
  return {
    text: content.find((part: any) => part.type === 'text')?.text ?? null,
    images: content.filter((part: any) => part.type === 'image_url').map((part: any) => part.image_url.url),
  };
}
const dataUrl = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;

test('images come by reference, by URL and as data, and their type from their content', async () => {
  const source = await startServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end(gif);
  });
  opened(source);
  const { output } = await invoke(
    vision({
      question: 'Which is it?',
      files: [add(png()), { ...add(jpeg), name: 'b.jpg' }],
      image_url: `${source.url}/c.gif`,
      more: { image: dataUrl('image/webp', webp) },
    }),
  );
  expect(output).toMatchObject({ text: 'Hello!' });
  expect(got()).toEqual({
    text: '{"question":"Which is it?"}',
    images: [
      dataUrl('image/png', png()),
      dataUrl('image/jpeg', jpeg),
      dataUrl('image/gif', gif),
      dataUrl('image/webp', webp),
    ],
  });
});

test('the question is a text, a prompt, or what the configuration says', async () => {
  const image = add(png());
  await invoke(vision({ text: 'What is it?', files: [image] }));
  await invoke(vision({ prompt: 'What is this?', image }));
  await invoke(vision({ name: 'Ada', image }, { prompt: 'Is this ${ .name }?' }));
  await invoke(vision({ image }));
  await invoke(vision(image));
  expect([0, 1, 2, 3, 4].map((index) => got(index).text)).toEqual([
    'What is it?',
    'What is this?',
    'Is this Ada?',
    null,
    null,
  ]);
});

test('images of the configuration selects them', async () => {
  const [a, b] = [add(png(1)), add(png(2))];
  const input = { shots: [{ photo: b }, { photo: null }], logo: a, url: 'http://10.0.0.1/' };
  await invoke(vision(input, { images: '.shots[].photo' }));
  await invoke(vision(input, { images: '${ [.logo, .shots[0].photo] # both\n }' }));
  expect([got(0).images, got(1).images]).toEqual([
    [dataUrl('image/png', png(2))],
    [dataUrl('image/png', png(1)), dataUrl('image/png', png(2))],
  ]);
  for (const images of ['.shots[', '.logo | error("no")'])
    expect(await faultOf(invoke(vision(input, { images })))).toMatchObject({ kind: 'expression' });
  for (const images of ['.nothing', '.shots[0]', '5'])
    expect(await faultOf(invoke(vision(input, { images })))).toMatchObject({ kind: 'validation' });
});

test('the output schema is asked for, and the object is the output', async () => {
  server.says('{"cats": 2}');
  const output_schema = { type: 'object', properties: { cats: { type: 'integer' } }, required: ['cats'] };
  expect((await invoke(vision(add(png()), {}, { output_schema }))).output).toEqual({ cats: 2 });
  const { response_format: format } = JSON.parse(server.seen[0]?.body ?? '{}');
  // Not every object names all its members, so the schema is not one that OpenAI takes as strict.
  expect(format).toMatchObject({
    type: 'json_schema',
    json_schema: { schema: output_schema, strict: false },
  });
});

test('what is no image, and what is above the limits, is refused before any request', async () => {
  const refused = async (input: unknown) => {
    const fault = await faultOf(invoke(vision(input)));
    expect(fault.kind).toBe('validation');
    return fault.detail;
  };
  expect(await refused('no image')).toContain('no image');
  expect(await refused(add(Buffer.from('<svg/>'), 'a.svg', 'image/svg+xml'))).toBe(
    'Image 1 (a.svg, image/svg+xml) is neither PNG, JPEG, GIF nor WebP',
  );
  expect(await refused({ images: Array.from({ length: 21 }, () => add(png())) })).toContain(
    '21 images; at most 20',
  );
  expect(await refused(add(png(11 * 1024 * 1024), 'big.png'))).toBe(
    'big.png is larger than 10 MiB, which is the limit',
  );
  const half = add(png(9 * 1024 * 1024));
  expect(await refused([half, half])).toContain('more than 16 MiB together');
  expect(await refused({ file_id: '0198c7a0-0000-7000-8000-0000000000ff' })).toContain('no file');
  expect(await refused({ image: 'data:image/png,plain' })).toContain('base64');
  expect(server.seen).toHaveLength(0);
});

test('a URL is fetched by us, under the egress policy, and not beyond the limit', async () => {
  const endless = await startServer((_, response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    response.write(png());
    const timer = setInterval(() => response.write(Buffer.alloc(1024 * 1024)), 1);
    response.on('close', () => clearInterval(timer));
  });
  opened(endless);
  expect(await faultOf(invoke(vision(`${endless.url}/a.png`)))).toMatchObject({ kind: 'validation' });
  expect(await faultOf(invoke(vision('http://10.0.0.1/a.png')))).toMatchObject({ kind: 'authorization' });
  expect(await faultOf(invoke(vision({ url: 'file:///etc/passwd' })))).toMatchObject({ kind: 'validation' });
  const missing = await startServer((_, response) => void response.writeHead(404).end());
  opened(missing);
  expect(await faultOf(invoke(vision(`${missing.url}/a.png`)))).toMatchObject({
    kind: 'communication',
    detail: expect.stringContaining('404'),
  });
  expect(server.seen).toHaveLength(0);
});
