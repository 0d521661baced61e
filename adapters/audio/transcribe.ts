/** A recording to text, in parts if it is long. What is known of a part is kept for a repeat of the call. */
import type { AudioConfiguration } from '../../contracts/agent-kinds/audio.ts';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { AgentCall, AgentResult, CallFiles, Usage } from '../../domain/ports.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { formBody, type FormField } from '../files/file-body.ts';
import { isFileReference, openReference, type StoredReference } from '../files/file-references.ts';
import { openGiven, splitFiles } from '../files/given-files.ts';
import { contentOf } from '../http/message.ts';
import { checkRepeat, type AudioApi } from './audio-api.ts';
import { readRecording, type Part, type Recording } from './recordings.ts';

const PART_SECONDS = 1_200;
const MAX_RECORDING_BYTES = 100 * 1024 * 1024;
/** Of all parts together, as JSON. */
const MAX_TRANSCRIPT_LENGTH = 8 * 1024 * 1024;

interface Segment {
  /** Seconds in the whole recording. */
  start: number;
  end: number;
  text: string;
}

/** What the server says of one part. */
interface Transcript {
  text: string;
  language?: string;
  segments?: Segment[];
  usage: Usage;
}

/** The output is `{text, language?, duration?, segments?}`, or the text if the output schema asks for one. */
export async function transcribe(
  call: AgentCall,
  configuration: AudioConfiguration,
  api: AudioApi,
  egress: EgressPolicy,
): Promise<AgentResult> {
  const kept = isRecord(call.progress?.kept) ? call.progress.kept : {};
  const file = await openReference(await recordingOf(call, kept, api, egress), filesOf(call));
  const recording = await readRecording(file, configuration.part_seconds ?? PART_SECONDS);
  const transcripts: Transcript[] = [];
  let length = 0;
  for (const [index, part] of recording.parts.entries()) {
    const known = kept[`part_${index}`];
    const transcript = isTranscript(known)
      ? known
      : await ask(call, configuration, api, { recording, part, index });
    length += JSON.stringify(transcript).length;
    if (length > MAX_TRANSCRIPT_LENGTH) throw tooLong();
    if (recording.parts.length > 1 && !isTranscript(known))
      await call.progress?.keep({ [`part_${index}`]: transcript });
    call.partial?.output(index === 0 ? transcript.text : ` ${transcript.text}`);
    transcripts.push(transcript);
  }
  return { output: outputOf(call, recording, transcripts), usage: usageOf(transcripts) };
}

function tooLong(): Error {
  return fault('communication', `The transcript has more than ${MAX_TRANSCRIPT_LENGTH} characters`, {
    status: 502,
  });
}

function filesOf({ files }: AgentCall): CallFiles {
  if (!files) throw fault('runtime', 'This call has no files');
  return files;
}

/** The only recording of the input. One that comes by URL is stored, because it may be read again. */
async function recordingOf(
  call: AgentCall,
  kept: Record<string, unknown>,
  api: AudioApi,
  egress: EgressPolicy,
): Promise<StoredReference> {
  const { files: given } = splitFiles(call.input);
  const [recording] = given;
  if (recording === undefined || given.length > 1)
    throw fault(
      'validation',
      `The input has ${given.length} recordings; it must have one, as a file reference or a URL`,
    );
  if (typeof recording !== 'string') return recording;
  if (isFileReference(kept['recording'])) return kept['recording'];
  const files = filesOf(call);
  const { name, media_type, chunks, ...opened } = await openGiven(recording, {
    files,
    egress,
    timeoutMs: api.leftMs(),
    signal: call.signal,
    maxBytes: MAX_RECORDING_BYTES,
  });
  try {
    const stored = await files.store(chunks, { name, media_type });
    const reference = { file_id: stored.file_id ?? '' };
    await call.progress?.keep({ recording: reference });
    return reference;
  } finally {
    opened.close();
  }
}

async function ask(
  call: AgentCall,
  configuration: AudioConfiguration,
  api: AudioApi,
  { recording, part, index }: { recording: Recording; part: Part; index: number },
): Promise<Transcript> {
  checkRepeat(call, configuration);
  const { format = 'json', temperature } = configuration;
  const { extension, mediaType, parts } = recording;
  const texts = {
    model: api.model,
    response_format: format,
    language: api.setting('language'),
    prompt: api.setting('prompt'),
    temperature: temperature?.toString(),
  };
  const fields: FormField[] = Object.entries(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [{ name, text }],
  );
  // Servers may read the fields before the file.
  fields.push({ name: 'file', filename: `audio.${extension}`, mediaType, body: part.body });
  const answer = await api.send({
    path: '/audio/transcriptions',
    ...formBody(fields),
    part: parts.length > 1 ? index : null,
  });
  // What a part says is kept, and may repeat a credential.
  const content = api.clean(contentOf(answer, () => null));
  return transcriptOf(content, part, api.model, new URL(answer.url).host);
}

function transcriptOf(content: unknown, part: Part, model: string, host: string): Transcript {
  const told = isRecord(content) ? content : { text: content };
  const { text, language, segments, usage } = told;
  if (typeof text !== 'string')
    throw fault('communication', `${host} answered without a transcript`, { status: 502 });
  const { startSeconds, seconds } = part;
  const whole =
    seconds === null
      ? []
      : [{ start: rounded(startSeconds), end: rounded(startSeconds + seconds), text: text.trim() }];
  return {
    text: text.trim(),
    ...(typeof language === 'string' ? { language } : {}),
    segments: Array.isArray(segments) ? segments.filter(isSegment).map(moved(startSeconds)) : whole,
    usage: { ...countsIn(usage), ...secondsOf(told, part), requests: 1, model },
  };
}

function isSegment(value: unknown): value is Segment {
  if (!isRecord(value)) return false;
  const { start, end, text } = value;
  return typeof start === 'number' && typeof end === 'number' && typeof text === 'string';
}

function moved(seconds: number) {
  return ({ start, end, text }: Segment): Segment => ({
    start: rounded(start + seconds),
    end: rounded(end + seconds),
    text: text.trim(),
  });
}

/** To milliseconds. */
function rounded(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000;
}

function countsIn(usage: unknown): Usage {
  const counts = isRecord(usage) ? usage : {};
  const names = ['input_tokens', 'output_tokens', 'total_tokens'];
  return Object.fromEntries(
    names.map((name) => [name, counts[name]]).filter(([, count]) => typeof count === 'number'),
  );
}

/** As the format tells, else as the server says. */
function secondsOf({ duration, usage }: Record<string, unknown>, { seconds }: Part): Usage {
  const told = [seconds, duration, isRecord(usage) ? usage['seconds'] : null].find(
    (value) => typeof value === 'number',
  );
  return typeof told === 'number' ? { audio_seconds: told } : {};
}

function isTranscript(value: unknown): value is Transcript {
  return isRecord(value) && typeof value['text'] === 'string' && isRecord(value['usage']);
}

function outputOf({ agent }: AgentCall, { parts }: Recording, transcripts: readonly Transcript[]): unknown {
  const text = transcripts
    .map((transcript) => transcript.text)
    .filter((part) => part !== '')
    .join(' ');
  if (agent.output_schema['type'] === 'string') return text;
  const language = transcripts.find((transcript) => transcript.language !== undefined)?.language;
  const seconds = usageOf(transcripts)['audio_seconds'];
  const segments = transcripts.flatMap((transcript) => transcript.segments ?? []);
  const isInParts = parts.length > 1 || segments.length > 1;
  return {
    text,
    ...(language === undefined ? {} : { language }),
    ...(seconds === undefined ? {} : { duration: seconds }),
    ...(isInParts ? { segments } : {}),
  };
}

/** The sums of the parts'. */
function usageOf(transcripts: readonly Transcript[]): Usage {
  const sums: Usage = {};
  for (const { usage } of transcripts)
    for (const [name, value] of Object.entries(usage)) {
      const before = sums[name];
      sums[name] = typeof value === 'number' && typeof before === 'number' ? before + value : value;
    }
  const { audio_seconds: seconds } = sums;
  return typeof seconds === 'number' ? { ...sums, audio_seconds: rounded(seconds) } : sums;
}
