/**
 * The body of `POST /v1/chat/completions` (OpenAI's API reference, "Create chat completion"): what
 * parameters count, which have no effect, and which are refused because the answer would not be what they
 * ask for.
 */
import * as z from 'zod';

import { isRecord } from '../../contracts/is-record.ts';
import { issueText } from '../../contracts/issue-texts.ts';
import { pointerTokens } from '../../contracts/json-pointer.ts';
import { unstorable } from '../middleware/body.ts';
import { badParameter } from './errors.ts';

const MAX_MESSAGES = 2_000;
const MAX_PARTS = 100;
/** Of all messages together; a chat sends all of them again with each turn. */
export const MAX_FILES = 20;

const image = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string(), detail: z.string().nullish() }),
});
const audio = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({ data: z.string(), format: z.enum(['wav', 'mp3']) }),
});
const file = z.object({
  type: z.literal('file'),
  file: z.object({
    file_data: z.string().nullish(),
    file_id: z.string().nullish(),
    filename: z.string().nullish(),
  }),
});
const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  image,
  audio,
  file,
]);
const message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: z.union([z.string(), z.array(part).max(MAX_PARTS), z.null()]).optional(),
  name: z.string().nullish(),
});

export type ChatPart = z.output<typeof part>;
export type ChatMessage = z.output<typeof message>;

export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream: boolean;
  includeUsage: boolean;
}

const chat = z.object({
  model: z.string().min(1).max(255),
  messages: z.array(message).min(1).max(MAX_MESSAGES),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
});

/** The agent's configuration decides these, so chat programs may send what they like. */
const WITHOUT_EFFECT = new Set(
  (
    'temperature top_p presence_penalty frequency_penalty seed max_tokens max_completion_tokens ' +
    'reasoning_effort verbosity service_tier store metadata user safety_identifier prompt_cache_key ' +
    'prompt_cache_retention parallel_tool_calls'
  ).split(' '),
);

const isUnset = (value: unknown): boolean => value === undefined || value === null;
const isEmpty = (value: unknown): boolean =>
  isUnset(value) ||
  (Array.isArray(value) && value.length === 0) ||
  (isRecord(value) && Object.keys(value).length === 0);

/** The values of parameters that change nothing; any other value is refused. */
const NEUTRAL: Record<string, (value: unknown) => boolean> = {
  n: (value) => isUnset(value) || value === 1,
  tools: isEmpty,
  functions: isEmpty,
  tool_choice: (value) => isUnset(value) || value === 'none' || value === 'auto',
  function_call: (value) => isUnset(value) || value === 'none' || value === 'auto',
  response_format: (value) => isUnset(value) || (isRecord(value) && value['type'] === 'text'),
  logprobs: (value) => isUnset(value) || value === false,
  top_logprobs: (value) => isUnset(value) || value === 0,
  logit_bias: isEmpty,
  modalities: (value) =>
    isUnset(value) || (Array.isArray(value) && value.length === 1 && value[0] === 'text'),
  audio: isUnset,
  prediction: isUnset,
  stop: isEmpty,
  web_search_options: isUnset,
};

/** @throws 422, as `badParameter`, that names the first parameter in the way */
export function parseChatRequest(body: unknown): ChatRequest {
  if (!isRecord(body)) throw badParameter('', 'The body must be a JSON object.', 'invalid_type');
  const [bad] = unstorable(body);
  if (bad) throw badParameter(parameterAt(pointerTokens(bad.pointer)), `${bad.pointer} ${bad.message}.`);
  for (const [name, value] of Object.entries(body)) {
    if (Object.hasOwn(chat.shape, name) || WITHOUT_EFFECT.has(name)) continue;
    const isNeutral = Object.hasOwn(NEUTRAL, name) ? NEUTRAL[name] : undefined;
    if (isNeutral === undefined)
      throw badParameter(
        name.slice(0, 100),
        `Unknown parameter: '${name.slice(0, 100)}'.`,
        'unknown_parameter',
      );
    if (!isNeutral(value))
      throw badParameter(
        name,
        `This value of '${name}' is not supported: an agent answers once, in text, with its own tools.`,
        'unsupported_parameter',
      );
  }
  refuseToolMessages(body['messages']);
  const parsed = chat.safeParse(body, { error: issueText });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const param = parameterAt(issue?.path ?? []);
    throw badParameter(param, `Invalid '${param}': ${issue?.message ?? 'it is not valid'}.`);
  }
  const { model, messages, stream, stream_options: options } = parsed.data;
  return { model, messages, stream: stream ?? false, includeUsage: options?.include_usage ?? false };
}

/** As OpenAI names it: `messages[0].role`. */
function parameterAt(path: readonly PropertyKey[]): string {
  return path
    .map(String)
    .map((key, at) => (/^\d+$/.test(key) ? `[${key}]` : at === 0 ? key : `.${key}`))
    .join('');
}

/** Results of tools would belong to calls that the agents never make through this API. */
function refuseToolMessages(messages: unknown): void {
  if (!Array.isArray(messages)) return;
  messages.slice(0, MAX_MESSAGES).forEach((one: unknown, index) => {
    if (!isRecord(one)) return;
    const where = `messages[${index}]`;
    if (one['role'] === 'tool' || one['role'] === 'function')
      throw badParameter(`${where}.role`, 'Messages of tools are not supported.', 'unsupported_value');
    for (const name of ['tool_calls', 'function_call', 'audio'])
      if (!isEmpty(one[name]))
        throw badParameter(`${where}.${name}`, `'${name}' is not supported.`, 'unsupported_parameter');
  });
}
