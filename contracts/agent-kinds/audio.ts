/** Configuration of agents of kind `audio`: transcription and speech over an OpenAI-compatible API. */
import * as z from 'zod';
import { jsonObjectOf } from '../json-object.ts';
import { duration, retry, scalar, type AgentKind, type KindFacts, type KindProblem } from './kind.ts';

/** The formats of speech, with their media types. */
export const SPEECH_FORMATS: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
};
/** How a transcript is asked for. */
export const TRANSCRIPT_FORMATS: readonly string[] = ['json', 'verbose_json', 'text'];

export const audioConfiguration = z.looseObject({
  /** Of an OpenAI-compatible API, such as `https://api.openai.com/v1`. Default: the agent's `url`. */
  base_url: z.string().optional(),
  model: z.string().optional(),
  api_key: z.string().optional(),
  /** A recording to text, or a text to speech. */
  task: z.enum(['transcribe', 'speak']).optional(),
  /** `speak`: one of the server's voices. */
  voice: z.string().optional(),
  /**
   * `speak`: `mp3` (default), `wav`, `pcm`, `opus`, `aac` or `flac`. `transcribe`: `json` (default),
   * `verbose_json` (with segments) or `text`.
   */
  format: z.string().optional(),
  /** Of the recording or the text, such as `de`. */
  language: z.string().optional(),
  /** `transcribe`: names and words that the model should expect. */
  prompt: z.string().optional(),
  /** `speak`: what to say, with `${ … }` over the input. Default: the input, or its `text`. */
  text: z.string().optional(),
  /** `speak`: how to say it, for models that can be told. */
  instructions: z.string().optional(),
  speed: z.number().positive().optional(),
  /** `transcribe`. */
  temperature: z.number().min(0).optional(),
  /** `transcribe`: longer recordings are sent in parts of this length. Default 1200. */
  part_seconds: z.number().min(10).max(7_200).optional(),
  headers: jsonObjectOf(scalar.nullable()).optional(),
  timeout: duration.optional(),
  retry: retry.optional(),
});

export type AudioConfiguration = z.infer<typeof audioConfiguration>;

function audioProblems({ configuration: { task, format } }: KindFacts): KindProblem[] {
  if (typeof format !== 'string' || (task !== 'speak' && task !== 'transcribe')) return [];
  const known = task === 'speak' ? Object.keys(SPEECH_FORMATS) : TRANSCRIPT_FORMATS;
  if (known.includes(format)) return [];
  return [{ key: 'format', message: `"format" must be one of ${known.join(', ')} for the task ${task}` }];
}

export const audioKind: AgentKind = {
  configuration: audioConfiguration,
  orUrl: 'base_url',
  keys: ['model', 'task'],
  problems: audioProblems,
};
