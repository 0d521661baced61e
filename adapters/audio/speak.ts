/** A text to speech, in parts if it is long. Parts are stored, so that a repeat of the call continues. */
import { SPEECH_FORMATS, type AudioConfiguration } from '../../contracts/agent-kinds/audio.ts';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { AgentCall, AgentResult, CallFiles, FileReference } from '../../domain/ports.ts';
import { isFileReference, type StoredReference } from '../files/file-references.ts';
import { isTextual } from '../http/media-types.ts';
import { checkRepeat, type AudioApi } from './audio-api.ts';
import { joinSpeech } from './join-speech.ts';
import { MAX_PART_CHARACTERS, splitText } from './split-text.ts';

const MAX_CHARACTERS = 100_000;
const JOINED_FORMATS = ['mp3', 'wav', 'pcm'];

/** The output is the reference of the stored file. */
export async function speak(
  call: AgentCall,
  configuration: AudioConfiguration,
  api: AudioApi,
): Promise<AgentResult> {
  const { files } = call;
  if (!files) throw fault('runtime', 'This call has no files');
  const { format = 'mp3' } = configuration;
  const mediaType = SPEECH_FORMATS[format];
  if (mediaType === undefined)
    throw fault(
      'configuration',
      `"format" must be one of ${Object.keys(SPEECH_FORMATS).join(', ')} for speech`,
    );
  const text = textOf(call, api);
  const parts = splitText(text, api.setting('language'));
  checkParts(parts, format, text);
  const usage = { characters: text.length, requests: parts.length, model: api.model };
  const one = (index: number): Promise<FileReference> =>
    ask(call, configuration, api, {
      text: parts[index] ?? '',
      format,
      mediaType,
      part: parts.length > 1 ? index : null,
    });
  if (parts.length === 1) return { output: await one(0), usage };
  const kept = isRecord(call.progress?.kept) ? call.progress.kept : {};
  if (isFileReference(kept['speech'])) return { output: kept['speech'], usage };
  const stored: StoredReference[] = [];
  for (const index of parts.keys()) {
    const known = kept[`part_${index}`];
    const reference = isFileReference(known) ? known : withId(await one(index));
    if (reference !== known) await call.progress?.keep({ [`part_${index}`]: reference });
    stored.push(reference);
  }
  const output = await joinSpeech(stored, format, { name: `speech.${format}`, media_type: mediaType }, files);
  await call.progress?.keep({ speech: output });
  await discard(stored, files);
  return { output, usage };
}

/** What is to be said: as the configuration has it, else the input or its `text`. */
function textOf({ input }: AgentCall, api: AudioApi): string {
  const given = isRecord(input) ? (input['text'] ?? input['prompt']) : input;
  const text = api.setting('text') ?? given;
  if (typeof text !== 'string' || text.trim() === '')
    throw fault('validation', 'There is no text to speak: the input must be a text, or have it as "text"');
  if (text.length > MAX_CHARACTERS)
    throw fault(
      'validation',
      `The text has ${text.length} characters; at most ${MAX_CHARACTERS} can be spoken`,
    );
  return text;
}

function checkParts(parts: readonly string[], format: string, { length }: string): void {
  if (parts.length > 1 && !JOINED_FORMATS.includes(format))
    throw fault(
      'validation',
      `The text has ${length} characters; above ${MAX_PART_CHARACTERS} it is spoken in parts, ` +
        `which cannot be joined as ${format}: choose one of ${JOINED_FORMATS.join(', ')}`,
    );
}

interface Spoken {
  text: string;
  format: string;
  mediaType: string;
  part: number | null;
}

async function ask(
  call: AgentCall,
  configuration: AudioConfiguration,
  api: AudioApi,
  { text, format, mediaType, part }: Spoken,
): Promise<FileReference> {
  checkRepeat(call, configuration);
  const { speed } = configuration;
  const voice = api.setting('voice');
  const instructions = api.setting('instructions');
  let stored: FileReference | null = null;
  const answer = await api.send({
    path: '/audio/speech',
    body: JSON.stringify({
      model: api.model,
      input: text,
      response_format: format,
      ...(voice === undefined ? {} : { voice }),
      ...(instructions === undefined ? {} : { instructions }),
      ...(speed === undefined ? {} : { speed }),
    }),
    contentType: 'application/json',
    part,
    take({ status, headers }) {
      const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
      if (status < 200 || status > 299 || isTextual(type)) return null;
      const name = part === null ? `speech.${format}` : `speech-${part + 1}.${format}`;
      return async (body) => {
        stored = (await call.files?.store(body, { name, media_type: mediaType })) ?? null;
      };
    },
  });
  if (stored === null)
    throw fault('communication', `${new URL(answer.url).host} answered without sound`, { status: 502 });
  return stored;
}

function withId({ file_id: id = '', ...reference }: FileReference): StoredReference {
  return { file_id: id, ...reference };
}

/** The parts are not needed any more. What cannot be discarded stays with the run. */
async function discard(parts: readonly StoredReference[], files: CallFiles): Promise<void> {
  for (const { file_id: id } of parts) await files.discard?.(id).catch(() => undefined);
}
