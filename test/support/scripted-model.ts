/** A local OpenAI-compatible server that answers as the test says: with text, tool calls, or errors. */
import type { ServerResponse } from 'node:http';
import { isRecord } from '../../contracts/is-record.ts';
import { sendJson, startServer } from './http-server.ts';
import { until } from './platform.ts';

export interface ScriptedAnswer {
  text?: string;
  /** `arguments` may be text that is no JSON. */
  calls?: { name: string; arguments?: unknown; id?: string }[];
  status?: number;
  headers?: Record<string, string>;
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

/** A request as the model gets it. Tests read any property. */
export interface ModelRequest {
  messages: any[];
  tools: any[];
  stream?: boolean;
  [key: string]: any;
}

/** `undefined`: the answer is held until `release`. */
type Script = (request: ModelRequest, number: number) => ScriptedAnswer | undefined;

export interface ScriptedModel {
  url: string;
  requests: ModelRequest[];
  headers: Record<string, string | string[] | undefined>[];
  /** For requests that come from now on. */
  script(script: Script): void;
  /** Resolves when so many answers are held. */
  held(count: number): Promise<unknown>;
  /** How many answers are held for clients that are still connected. */
  open(): number;
  /** Answers all that are held and still connected. */
  release(answer: ScriptedAnswer): void;
  close(): Promise<void>;
}

const USAGE = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };

export async function startScriptedModel(): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  const headers: ScriptedModel['headers'] = [];
  const waiting = new Map<ServerResponse, ModelRequest>();
  let script: Script = () => ({ text: 'ok' });
  const server = await startServer((request, response) => {
    const body = JSON.parse(request.body) as ModelRequest;
    requests.push(body);
    headers.push(request.headers);
    const answer = script(body, requests.length);
    if (answer) return sendModelAnswer(response, body, answer);
    waiting.set(response, body);
    response.on('close', () => waiting.delete(response));
  });
  return {
    url: server.url,
    requests,
    headers,
    script(next) {
      script = next;
    },
    held: (count) =>
      until(
        async () => waiting.size,
        (now) => now >= count,
      ),
    open: () => waiting.size,
    release(answer) {
      for (const [response, body] of waiting) sendModelAnswer(response, body, answer);
      waiting.clear();
    },
    close: () => server.close(),
  };
}

/** Whole, or as a stream if the request asks for one. */
export function sendModelAnswer(response: ServerResponse, body: ModelRequest, answer: ScriptedAnswer): void {
  const { status = 200, usage = USAGE } = answer;
  if (status !== 200) {
    for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
    return sendJson(response, { error: { message: 'not now', type: 'x' } }, status);
  }
  const message = messageOf(answer);
  const finish_reason = answer.calls ? 'tool_calls' : 'stop';
  const head = { id: 'c1', created: 1, model: 'tiny-2026' };
  if (body.stream !== true)
    return sendJson(response, { ...head, choices: [{ index: 0, message, finish_reason }], usage });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const chunk = (delta: object, more: object = {}): void =>
    void response.write(`data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, ...more }] })}\n\n`);
  chunk({ role: 'assistant', content: '' });
  for (const word of (answer.text ?? '').split(/(?<= )/)) if (word !== '') chunk({ content: word });
  message.tool_calls?.forEach((call, index) => chunk({ tool_calls: [{ index, ...call }] }));
  chunk({}, { finish_reason });
  response.write(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`);
  response.end('data: [DONE]\n\n');
}

function messageOf({ text, calls }: ScriptedAnswer) {
  const tool_calls = calls?.map(({ name, arguments: given = {}, id }, index) => ({
    id: id ?? `call_${index + 1}`,
    type: 'function',
    function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
  }));
  return { role: 'assistant', content: text ?? null, ...(tool_calls ? { tool_calls } : {}) };
}

/** The answers of tools in a request, by name of the tool, with their text. */
export function toolAnswers({ messages }: ModelRequest): [string, string][] {
  const names = new Map<string, string>();
  const answers: [string, string][] = [];
  for (const message of messages) {
    for (const call of message.tool_calls ?? []) names.set(call.id, call.function.name);
    if (message.role === 'tool')
      answers.push([
        names.get(message.tool_call_id) ?? '?',
        isRecord(message.content) ? JSON.stringify(message.content) : String(message.content),
      ]);
  }
  return answers;
}
