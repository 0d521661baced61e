/** A local server that speaks the wire format of a provider of language models, and does what a test says. */
import { crc32 } from 'node:zlib';
import { startServer, type SeenRequest } from './http-server.ts';

export const WIRES = [
  'openai-compatible',
  'openai',
  'responses',
  'anthropic',
  'google',
  'azure',
  'bedrock',
  'ollama',
] as const;
export type Wire = (typeof WIRES)[number];

type Failure = 'key' | 'forbidden' | 'limit' | 'long' | 'model' | 'down';

export interface ModelServer {
  url: string;
  seen: SeenRequest[];
  /** The model to ask for, and the one that its answers name. */
  model: string;
  answersAs: string;
  /** The text of the next answers; `Hello!` before. */
  says(text: string): void;
  fails(failure: Failure | null): void;
  stopsBy(reason: 'filter'): void;
  /** Streams end with an error after their first piece. */
  breaksStream(): void;
  /** Bedrock: streams begin with a frame of this size, and send no more. */
  announcesFrame(bytes: number): void;
  /** What a request logged in with. */
  login(request: SeenRequest | undefined): string;
  expectedLogin(secrets: Record<string, string>): unknown;
  close(): Promise<void>;
}

interface Said {
  text: string;
  isFiltered: boolean;
  /** The tool through which Bedrock is asked for an object. */
  asTool: boolean;
}

/** `pieces` of a stream are events of SSE, except for Bedrock. */
interface Format {
  model: string;
  answersAs?: string;
  whole(said: Said): unknown;
  pieces(said: Said): unknown[];
  broken: unknown;
  error(status: number, message: string, code: string): unknown;
  login(headers: SeenRequest['headers']): unknown;
}

const chatUsage = {
  prompt_tokens: 11,
  completion_tokens: 5,
  total_tokens: 16,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};
const chatFinish = ({ isFiltered }: Said): string => (isFiltered ? 'content_filter' : 'stop');
const chunk = (choices: unknown[], more: object = {}): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'tiny-2026',
  choices,
  ...more,
});

const chat: Format = {
  model: 'tiny',
  answersAs: 'tiny-2026',
  whole: (said) => ({
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'tiny-2026',
    choices: [
      { index: 0, message: { role: 'assistant', content: said.text }, finish_reason: chatFinish(said) },
    ],
    usage: chatUsage,
  }),
  pieces: (said) => [
    chunk([{ index: 0, delta: { role: 'assistant', content: said.text.slice(0, 2) } }]),
    chunk([{ index: 0, delta: { content: said.text.slice(2) } }]),
    chunk([{ index: 0, delta: {}, finish_reason: chatFinish(said) }]),
    chunk([], { usage: chatUsage }),
    '[DONE]',
  ],
  broken: { error: { message: 'Out of capacity', type: 'server_error', code: null, param: null } },
  error: (_status, message, code) => ({
    error: { message, type: 'invalid_request_error', param: null, code },
  }),
  login: ({ authorization }) => authorization,
};

const responsesUsage = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 16,
};
const responsesEnd = ({ isFiltered }: Said): object => ({
  status: isFiltered ? 'incomplete' : 'completed',
  incomplete_details: isFiltered ? { reason: 'content_filter' } : null,
  usage: responsesUsage,
});
const outputMessage = (text: string): object => ({
  type: 'message',
  id: 'm1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

const FORMATS: Record<Wire, Format> = {
  'openai-compatible': chat,
  openai: chat,
  azure: { ...chat, login: (headers) => headers['api-key'] },
  ollama: chat,
  responses: {
    ...chat,
    whole: (said) => ({
      id: 'r1',
      object: 'response',
      created_at: 1,
      model: 'tiny-2026',
      output: [outputMessage(said.text)],
      ...responsesEnd(said),
    }),
    pieces: (said) => [
      { type: 'response.created', response: { id: 'r1', created_at: 1, model: 'tiny-2026' } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'message', id: 'm1', role: 'assistant', status: 'in_progress', content: [] },
      },
      ...[said.text.slice(0, 2), said.text.slice(2)].map((delta) => ({
        type: 'response.output_text.delta',
        item_id: 'm1',
        output_index: 0,
        content_index: 0,
        delta,
      })),
      { type: 'response.output_item.done', output_index: 0, item: outputMessage(said.text) },
      {
        type: said.isFiltered ? 'response.incomplete' : 'response.completed',
        response: { id: 'r1', created_at: 1, model: 'tiny-2026', ...responsesEnd(said) },
      },
    ],
    broken: {
      type: 'error',
      sequence_number: 1,
      code: 'server_error',
      message: 'Out of capacity',
      param: null,
    },
  },
  anthropic: {
    model: 'claude-sonnet-4-5',
    whole: (said) => ({
      type: 'message',
      id: 'm1',
      model: 'claude-sonnet-4-5',
      role: 'assistant',
      content: [{ type: 'text', text: said.text }],
      stop_reason: said.isFiltered ? 'refusal' : 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 7,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 0,
        output_tokens: 5,
      },
    }),
    pieces: (said) => [
      {
        type: 'message_start',
        message: {
          type: 'message',
          id: 'm1',
          model: 'claude-sonnet-4-5',
          role: 'assistant',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: 7,
            cache_read_input_tokens: 4,
            cache_creation_input_tokens: 0,
            output_tokens: 1,
          },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...[said.text.slice(0, 2), said.text.slice(2)].map((text) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text },
      })),
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: said.isFiltered ? 'refusal' : 'end_turn', stop_sequence: null },
        usage: { output_tokens: 5 },
      },
      { type: 'message_stop' },
    ],
    broken: { type: 'error', error: { type: 'overloaded_error', message: 'Out of capacity' } },
    error: (_status, message, code) => ({ type: 'error', error: { type: code, message } }),
    login: (headers) => headers['x-api-key'],
  },
  google: {
    model: 'gemini-2.5-flash',
    whole: (said) => googleAnswer(said.text, said),
    pieces: (said) => [googleAnswer(said.text.slice(0, 2)), googleAnswer(said.text.slice(2), said)],
    broken: { error: { code: 503, message: 'Out of capacity', status: 'UNAVAILABLE' } },
    error: (status, message, code) => ({ error: { code: status, message, status: code } }),
    login: (headers) => headers['x-goog-api-key'],
  },
  bedrock: {
    model: 'amazon.nova-lite-v1:0',
    whole: (said) => ({
      output: {
        message: {
          role: 'assistant',
          content: said.asTool
            ? [{ toolUse: { toolUseId: 't1', name: 'json', input: JSON.parse(said.text) } }]
            : [{ text: said.text }],
        },
      },
      stopReason: said.isFiltered ? 'content_filtered' : said.asTool ? 'tool_use' : 'end_turn',
      usage: { inputTokens: 7, outputTokens: 5, totalTokens: 16, cacheReadInputTokens: 4 },
    }),
    pieces: (said) => [
      ['messageStart', { role: 'assistant' }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: said.text.slice(0, 2) } }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: said.text.slice(2) } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['messageStop', { stopReason: said.isFiltered ? 'content_filtered' : 'end_turn' }],
      [
        'metadata',
        { usage: { inputTokens: 7, outputTokens: 5, totalTokens: 16, cacheReadInputTokens: 4 }, metrics: {} },
      ],
    ],
    broken: ['throttlingException', { message: 'Out of capacity' }],
    error: (_status, message) => ({ message }),
    login: ({ authorization }) => /Credential=([^/]+)\//.exec(authorization ?? '')?.[1],
  },
};

function googleAnswer(text: string, end?: Said): object {
  return {
    candidates: [
      {
        content: { parts: [{ text }], role: 'model' },
        ...(end ? { finishReason: end.isFiltered ? 'SAFETY' : 'STOP' } : {}),
      },
    ],
    usageMetadata: {
      promptTokenCount: 11,
      candidatesTokenCount: 5,
      totalTokenCount: 16,
      cachedContentTokenCount: 4,
    },
    modelVersion: 'gemini-2.5-flash',
  };
}

/** What each provider says, with its status and its word for it. */
function refusalOf(wire: Wire, failure: Failure, login: unknown): [number, string, string] {
  if (failure === 'key') return [401, `Not a key: ${JSON.stringify(login)}`, 'invalid_api_key'];
  if (failure === 'forbidden') return [403, 'Not for you', 'permission_error'];
  if (failure === 'limit') return [429, 'Slow down', 'rate_limit_exceeded'];
  if (failure === 'down') return [503, 'Down for a while', 'server_error'];
  if (failure === 'long') {
    if (wire === 'anthropic')
      return [400, 'prompt is too long: 213123 tokens > 200000 maximum', 'invalid_request_error'];
    if (wire === 'google')
      return [
        400,
        'The input token count (12) exceeds the maximum number of tokens allowed (9).',
        'INVALID_ARGUMENT',
      ];
    if (wire === 'bedrock') return [400, 'Input is too long for requested model.', ''];
    return [400, "This model's maximum context length is 9 tokens.", 'context_length_exceeded'];
  }
  if (wire === 'bedrock') return [400, 'The provided model identifier is invalid.', ''];
  if (wire === 'azure')
    return [404, 'The API deployment for this resource does not exist.', 'DeploymentNotFound'];
  return [404, 'model: tiny', wire === 'anthropic' ? 'not_found_error' : 'model_not_found'];
}

export async function startModelServer(wire: Wire): Promise<ModelServer> {
  const format = FORMATS[wire];
  let text = 'Hello!';
  let failure: Failure | null = null;
  let isFiltered = false;
  let isBroken = false;
  let frameBytes = 0;
  const server = await startServer((request, response) => {
    if (failure !== null) {
      const [status, message, code] = refusalOf(wire, failure, request.headers);
      const headers = {
        'content-type': 'application/json',
        ...(failure === 'limit' ? { 'retry-after': '7' } : {}),
      };
      return void response
        .writeHead(status, headers)
        .end(JSON.stringify(format.error(status, message, code)));
    }
    const said = { text, isFiltered, asTool: request.body.includes('"name":"json"') };
    const streams =
      /"stream":true/.test(request.body) || /converse-stream|streamGenerateContent/.test(request.path);
    if (!streams)
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(format.whole(said)));
    const [first, ...rest] = format.pieces(said);
    const pieces = isBroken ? [first, format.broken] : [first, ...rest];
    if (wire !== 'bedrock') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of pieces)
        response.write(`data: ${typeof piece === 'string' ? piece : JSON.stringify(piece)}\n\n`);
      return void response.end();
    }
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    if (frameBytes > 0) {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(frameBytes);
      return void response.write(length);
    }
    for (const [type, payload] of pieces as [string, object][]) response.write(frameOf(type, payload));
    response.end();
  });
  return {
    url: server.url,
    seen: server.seen,
    model: format.model,
    answersAs: format.answersAs ?? format.model,
    says: (next) => (text = next),
    fails: (next) => (failure = next),
    stopsBy: () => (isFiltered = true),
    breaksStream: () => (isBroken = true),
    announcesFrame: (bytes) => (frameBytes = bytes),
    login: (request) => String(format.login(request?.headers ?? {})),
    expectedLogin: ({ KEY = '', AWS_ID = '' }) =>
      wire === 'ollama'
        ? 'undefined'
        : wire === 'bedrock'
          ? AWS_ID
          : ['anthropic', 'google', 'azure'].includes(wire)
            ? KEY
            : `Bearer ${KEY}`,
    close: () => server.close(),
  };
}

/** A message of AWS's event stream encoding. */
function frameOf(type: string, payload: object): Buffer {
  const isException = type.endsWith('Exception');
  const headers = Buffer.concat(
    Object.entries({
      ':message-type': isException ? 'exception' : 'event',
      [isException ? ':exception-type' : ':event-type']: type,
      ':content-type': 'application/json',
    }).map(([name, value]) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(value.length);
      return Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7]),
        length,
        Buffer.from(value),
      ]);
    }),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headers, body]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(message));
  return Buffer.concat([message, sum]);
}
