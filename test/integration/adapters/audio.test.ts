/** Agents of kind `audio` against a server that reads the sound it gets and makes sound of its own. */
import { beforeEach, expect, test } from '@jest/globals';
import { configurationWarnings } from '../../../contracts/agent-configuration.ts';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { AgentCall, CallProgress } from '../../../domain/ports.ts';
import { agentCall, faultOf } from '../../support/agent-call.ts';
import {
  mp3Of,
  SAMPLE_RATE,
  startAudioServer,
  taggedMp3,
  wavOf,
  type AudioServer,
} from '../../support/audio-server.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';
import { startServer } from '../../support/http-server.ts';
import { memoryFiles, type MemoryFiles } from '../../support/memory-files.ts';
import { until } from '../../support/platform.ts';

const opened = closedAfterEach();
let server: AudioServer;
let files: MemoryFiles;

beforeEach(async () => {
  server = opened(await startAudioServer());
  files = memoryFiles();
});

function invoke(call: AgentCall) {
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  return createAdapters({ egress }).invoke(call);
}

const audio = (configuration: object, input: unknown, more: Partial<AgentCall> = {}): AgentCall => ({
  ...agentCall(
    {
      type: 'audio',
      configuration: { base_url: server.url, model: 'm', api_key: '<KEY>', ...configuration },
    },
    input,
    { secrets: { KEY: 'sk-very-secret-0123' } },
  ),
  files,
  ...more,
});
const transcribing = (input: unknown, configuration: object = {}, more: Partial<AgentCall> = {}) =>
  audio({ task: 'transcribe', ...configuration }, input, more);
const speaking = (input: unknown, configuration: object = {}, more: Partial<AgentCall> = {}) =>
  audio({ task: 'speak', voice: 'alloy', ...configuration }, input, more);
const recording = (bytes: Buffer, name = 'a.wav', media_type = 'audio/wav') =>
  files.add(bytes, { name, media_type });
/** 35 seconds. */
const long = () => recording(wavOf(0, 35 * SAMPLE_RATE));
/** What a call has kept, as its repeat gets it. */
function keeping(kept: Record<string, unknown> = {}, repeated = false) {
  const progress: CallProgress & { kept: Record<string, unknown> } = {
    repeated,
    kept,
    keep: async (value) => void Object.assign(kept, structuredClone(value)),
  };
  return progress;
}
/** Longer than one request may be. */
const SENTENCES = Array.from({ length: 300 }, (_, n) => `This is sentence number ${n} of a long text.`);

test('a recording is sent as a form, and its transcript comes back', async () => {
  const { file_id } = recording(wavOf(7, 50));
  const { output, usage } = await invoke(
    transcribing({ files: [{ file_id }] }, { language: '${ "de" }', prompt: 'Cadenza' }),
  );
  expect(output).toEqual({ text: '7-56', duration: 0.5 });
  expect(usage).toMatchObject({
    input_tokens: 10,
    output_tokens: 3,
    total_tokens: 13,
    requests: 1,
    audio_seconds: 0.5,
  });
  expect(server.seen).toMatchObject([
    {
      path: '/v1/audio/transcriptions',
      headers: { authorization: 'Bearer sk-very-secret-0123', 'idempotency-key': 'run-1/do/0/call/1/1' },
      fields: { model: 'm', language: 'de', prompt: 'Cadenza', response_format: 'json' },
      file: { name: 'audio.wav', type: 'audio/wav' },
    },
  ]);
});

test('a long recording is cut exactly, and its transcripts are joined with their offsets', async () => {
  const { output, usage } = await invoke(transcribing(long(), { part_seconds: 10 }));
  expect(output).toEqual({
    text: '0-999 1000-1999 2000-2999 3000-3499',
    duration: 35,
    segments: [
      { start: 0, end: 10, text: '0-999' },
      { start: 10, end: 20, text: '1000-1999' },
      { start: 20, end: 30, text: '2000-2999' },
      { start: 30, end: 35, text: '3000-3499' },
    ],
  });
  expect(usage).toMatchObject({ requests: 4, input_tokens: 40, audio_seconds: 35 });
  expect(server.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(
    [1, 2, 3, 4].map((part) => `${part}/run-1/do/0/call/1/1`),
  );
  const verbose = await invoke(transcribing(long(), { part_seconds: 20, format: 'verbose_json' }));
  expect(verbose.output).toMatchObject({
    language: 'english',
    segments: [
      { start: 0, end: 1.5, text: '0' },
      { start: 1.5, end: 3, text: '1999' },
      { start: 20, end: 21.5, text: '2000' },
      { start: 21.5, end: 23, text: '3499' },
    ],
  });
});

test('MP3 is cut between frames, without its tags', async () => {
  const mp3 = recording(taggedMp3(mp3Of(0, 1_000)), 'a.mp3', 'application/octet-stream');
  const { output } = await invoke(transcribing(mp3, { part_seconds: 10 }));
  expect(output).toMatchObject({ text: '0-381 382-763 764-999', duration: 26.122 });
  const tag = Buffer.from('ID3\x04\0\0\0\0\0\x01\0', 'latin1');
  const noise = recording(Buffer.concat([tag, Buffer.alloc(300_000, Buffer.from([0xff, 0xe0]))]), 'b.mp3');
  expect(await faultOf(invoke(transcribing(noise)))).toMatchObject({ kind: 'validation' });
});

test('a repeat continues with the parts that are kept', async () => {
  const progress = keeping();
  server.holdFrom(3);
  const controller = new AbortController();
  const lost = invoke(transcribing(long(), { part_seconds: 10 }, { progress, signal: controller.signal }));
  await until(
    async () => server.seen.length,
    (count) => count === 3,
  );
  controller.abort(new Error('the worker died'));
  await expect(lost).rejects.toThrow('the worker died');
  await until(
    async () => server.left(),
    (count) => count === 1,
  );
  server.release();
  const again = keeping(progress.kept, true);
  const { output, usage } = await invoke(transcribing(long(), { part_seconds: 10 }, { progress: again }));
  expect(output).toMatchObject({ text: '0-999 1000-1999 2000-2999 3000-3499' });
  expect(usage).toMatchObject({ requests: 4 });
  expect(server.seen.map(({ headers }) => String(headers['idempotency-key'])[0])).toEqual([
    '1',
    '2',
    '3',
    '3',
    '4',
  ]);
  const once = { part_seconds: 10, retry: { idempotent: false } };
  const unknown = transcribing(long(), once, {
    progress: keeping({ part_0: progress.kept['part_0'] }, true),
  });
  expect(await faultOf(invoke(unknown))).toMatchObject({ detail: expect.stringContaining('unknown') });
});

test('other formats are sent whole, and refused above the limit', async () => {
  const ogg = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(100)]);
  expect((await invoke(transcribing(recording(ogg)))).output).toEqual({ text: '104-104' });
  expect(server.seen[0]?.file).toMatchObject({ name: 'audio.ogg', type: 'audio/ogg' });
  const huge = recording(Buffer.concat([Buffer.from('OggS'), Buffer.alloc(25 * 1024 * 1024)]), 'talk.ogg');
  const fault = await faultOf(invoke(transcribing(huge)));
  expect(fault).toMatchObject({ kind: 'validation' });
  expect(fault.detail).toMatch(/talk\.ogg has 26214404 bytes of ogg; above 25165824 bytes only WAV and MP3/);
  const text = recording(Buffer.from('no sound at all'), 'a.txt', 'text/plain');
  expect((await faultOf(invoke(transcribing(text)))).detail).toContain('a.txt (text/plain) is no recording');
  for (const input of [{}, 'no file', { files: [recording(ogg), recording(ogg)] }])
    expect(await faultOf(invoke(transcribing(input)))).toMatchObject({ kind: 'validation' });
  expect(server.seen).toHaveLength(1);
});

test('a recording by URL is fetched under the egress policy, and stored', async () => {
  const source = await startServer((_, response) => void response.end(wavOf(1, 10)));
  opened(source);
  const progress = keeping();
  expect((await invoke(transcribing({ url: `${source.url}/a.wav` }, {}, { progress }))).output).toMatchObject(
    {
      text: '1-10',
    },
  );
  expect([...files.contents.values()]).toMatchObject([{ name: 'a.wav' }]);
  const again = { progress: keeping(progress.kept, true) };
  await invoke(transcribing({ url: `${source.url}/a.wav` }, {}, again));
  expect(source.seen).toHaveLength(1);
  expect(await faultOf(invoke(transcribing('http://10.0.0.1/a.wav')))).toMatchObject({
    kind: 'authorization',
  });
});

test('a text becomes a file', async () => {
  const { output, usage } = await invoke(
    speaking({ text: 'Hello there' }, { instructions: 'Whisper.', speed: 1.5 }),
  );
  expect(output).toMatchObject({ file_id: expect.any(String), name: 'speech.mp3', media_type: 'audio/mpeg' });
  expect(usage).toMatchObject({ requests: 1, characters: 11, model: 'm' });
  expect(server.seen[0]?.fields).toEqual({
    model: 'm',
    input: 'Hello there',
    voice: 'alloy',
    response_format: 'mp3',
    instructions: 'Whisper.',
    speed: 1.5,
  });
  await invoke(speaking({ name: 'Ada' }, { text: 'Hello ${ .name }', format: 'opus' }));
  expect(server.seen[1]?.fields).toMatchObject({ input: 'Hello Ada', response_format: 'opus' });
  expect(await faultOf(invoke(speaking({ data: 1 })))).toMatchObject({ kind: 'validation' });
});

test('a long text is spoken in parts that end with sentences, and the sound is joined', async () => {
  const text = SENTENCES.join(' ');
  const wav: any = (await invoke(speaking(text, { format: 'wav' }))).output;
  const said = server.seen.map(({ fields }) => String(fields['input']));
  expect(said.join(' ')).toBe(text);
  expect(said.every((part) => part.length <= 4_000 && part.endsWith('.'))).toBe(true);
  const expected = Buffer.concat(said.map(({ length }) => wavOf(length, length).subarray(44)));
  const bytes = files.contents.get(wav.file_id)?.bytes;
  expect(bytes?.subarray(44).equals(expected)).toBe(true);
  expect([bytes?.readUInt32LE(4), bytes?.readUInt32LE(40)]).toEqual([expected.length + 36, expected.length]);
  // Only the joined file is left.
  expect(files.contents.size).toBe(1);
  const mp3: any = (await invoke(speaking(text, { format: 'mp3' }))).output;
  expect(
    files.contents.get(mp3.file_id)?.bytes.equals(Buffer.concat(said.map((part) => mp3Of(part.length, 3)))),
  ).toBe(true);
  const pcm: any = (await invoke(speaking(text, { format: 'pcm' }))).output;
  expect(files.contents.get(pcm.file_id)?.bytes.equals(expected)).toBe(true);
  expect((await faultOf(invoke(speaking(text, { format: 'opus' })))).detail).toContain(
    'choose one of mp3, wav, pcm',
  );
  const word = await invoke(speaking('x'.repeat(9_000), { format: 'pcm' }));
  expect(word.usage).toMatchObject({ requests: 3 });
  expect(await faultOf(invoke(speaking('x'.repeat(100_001))))).toMatchObject({ kind: 'validation' });
});

test('a repeat of a long speech asks only for what is missing', async () => {
  const text = SENTENCES.join(' ');
  const whole: any = (await invoke(speaking(text, { format: 'wav' }))).output;
  const before = server.seen.length;
  const progress = keeping();
  server.holdFrom(before + 2);
  const controller = new AbortController();
  const lost = invoke(speaking(text, { format: 'wav' }, { progress, signal: controller.signal }));
  await until(
    async () => server.seen.length,
    (count) => count === before + 2,
  );
  controller.abort(new Error('the worker died'));
  await expect(lost).rejects.toThrow('the worker died');
  server.release();
  const again = speaking(text, { format: 'wav' }, { progress: keeping(progress.kept, true) });
  const output: any = (await invoke(again)).output;
  expect(files.contents.get(output.file_id)?.bytes).toEqual(files.contents.get(whole.file_id)?.bytes);
  expect(server.seen.length).toBe(before * 2 + 1);
  // The result is kept, too.
  expect(
    (await invoke(speaking(text, { format: 'wav' }, { progress: keeping(progress.kept, true) }))).output,
  ).toEqual(output);
  expect(server.seen.length).toBe(before * 2 + 1);
});

test('a credential that a transcript repeats is neither kept nor shown', async () => {
  server.answers((response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"text": "say sk-very-secret-0123"}');
  });
  const progress = keeping();
  const { output } = await invoke(transcribing(long(), { part_seconds: 20 }, { progress }));
  expect(output).toMatchObject({ text: 'say <KEY> say <KEY>' });
  expect(progress.kept).toMatchObject({ part_1: { text: 'say <KEY>' } });
  expect(JSON.stringify([output, progress.kept])).not.toContain('sk-very-secret');
});

test('a WAV file whose header does not know its size is read to its end', async () => {
  expect((await invoke(transcribing(recording(wavOf(4, 30, 0))))).output).toMatchObject({ text: '4-33' });
});

test('a WAV file with a format of many bytes, and endless transcripts, are refused', async () => {
  const wav = wavOf(0, 10);
  const format = Buffer.alloc(100_000);
  wav.copy(format, 0, 20, 36);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(format.length);
  const lying = Buffer.concat([wav.subarray(0, 16), size, format, wav.subarray(36)]);
  expect(await faultOf(invoke(transcribing(recording(lying))))).toMatchObject({
    kind: 'validation',
    detail: expect.stringContaining('is no recording'),
  });
  const text = JSON.stringify({ text: 'x'.repeat(2_000_000) });
  server.answers((response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  });
  const progress = keeping();
  const endless = faultOf(invoke(transcribing(long(), { part_seconds: 10 }, { progress })));
  expect(await endless).toMatchObject({
    kind: 'communication',
    detail: 'The transcript has more than 8388608 characters',
  });
  expect(Object.keys(progress.kept)).toEqual(['part_0', 'part_1']);
});

test('what the server says instead of sound or text is a fault', async () => {
  server.answers((response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"no": "sound"}');
  });
  expect(await faultOf(invoke(speaking('Hi')))).toMatchObject({ kind: 'communication', status: 502 });
  expect(await faultOf(invoke(transcribing(long())))).toMatchObject({ kind: 'communication', status: 502 });
  server.answers((response) => {
    const error = { error: { message: 'No such voice: sk-very-secret-0123', code: 'bad_voice' } };
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error));
  });
  const refused = await faultOf(invoke(speaking('Hi')));
  expect(refused).toMatchObject({ kind: 'communication', status: 400 });
  expect(refused.detail).toMatch(/answered 400: No such voice: <KEY>$/);
});

test('what is missing or wrong in the configuration is warned of, and a fault', async () => {
  const warned = (configuration: Record<string, unknown>) =>
    configurationWarnings({ type: 'audio', execution_type: null, configuration }).map(
      ({ pointer }) => pointer,
    );
  expect(warned({ base_url: 'http://a', model: 'm', task: 'speak', format: 'wav' })).toEqual([]);
  expect(warned({ task: 'transcribe', format: 'wav' })).toEqual([
    '/configuration/base_url',
    '/configuration/model',
    '/configuration/format',
  ]);
  expect(warned({ base_url: 'http://a', model: 'm', task: 'sing' })).toEqual(['/configuration/task']);
  for (const configuration of [{ task: undefined }, { task: 'speak', format: 'ogg' }, { model: '' }])
    expect(await faultOf(invoke(audio({ task: 'transcribe', ...configuration }, 'x')))).toMatchObject({
      kind: 'configuration',
    });
});
