/** How the OpenAI-compatible API reads requests, and what agents get of a chat. */
import { describe, expect, test } from '@jest/globals';
import { AppError } from '../../../domain/errors.ts';
import { agentInput, finishReason, outputText } from '../../../api/openai/conversation.ts';
import { GrowingText, piecesOf } from '../../../api/protocol-calls/growing-text.ts';
import { parseChatRequest } from '../../../api/openai/request.ts';
import { runResultSchema, toolInput } from '../../../api/mcp/tool-schemas.ts';
import { sourceOfName, toolName } from '../../../api/mcp/tool-names.ts';
import { PARTIAL } from '../../../contracts/partial-output.ts';

const messages = [
  { role: 'user' as const, content: 'one' },
  { role: 'assistant' as const, content: 'two' },
  { role: 'user' as const, content: 'three' },
];
const chat = { messages, text: 'three', files: [{ file_id: 'f' }] };
const agent = (type: string, input_schema = {}, configuration = {}) => ({
  type,
  execution_type: null,
  configuration,
  input_schema,
});
const object = (properties: object, more = {}) => ({ type: 'object', properties, ...more });
const text = { type: 'string' };

test('an agent gets what its schema has room for', () => {
  const history = messages.slice(0, 2);
  const { files } = chat;
  expect(agentInput(agent('llm'), chat)).toEqual({ messages, files });
  expect(agentInput(agent('llm', {}, { prompt: 'Say ${ .text }' }), chat)).toEqual({
    text: 'three',
    history,
    files,
  });
  expect(agentInput(agent('a2a'), { ...chat, messages: [{ role: 'user', content: 'three' }] })).toEqual({
    text: 'three',
    files,
  });
  expect(agentInput(agent('api', text), chat)).toBe('three');
  expect(agentInput(agent('api', object({ question: text, colour: text })), chat)).toEqual({
    question: 'three',
  });
  expect(
    agentInput(agent('api', object({ a: { type: 'number' }, b: text }, { required: ['b'] })), chat),
  ).toEqual({
    b: 'three',
  });
  expect(agentInput(agent('api', object({ messages: { type: 'array' }, files: {} })), chat)).toEqual({
    messages,
    files,
  });
  expect(agentInput(agent('workflow'), chat, object({ topic: text, history: {} }))).toEqual({
    topic: 'three',
    history,
  });
  for (const schema of [
    { type: 'number' },
    object({ n: { type: 'number' } }),
    object({}, { additionalProperties: false }),
  ])
    expect(agentInput(agent('api', schema), chat)).toBeNull();
});

test('an output becomes a text, and its end a reason', () => {
  expect(outputText({ text: 'a', finish_reason: 'length', model: 'm' })).toBe('a');
  expect([outputText('a'), outputText(null), outputText({ text: 'a', n: 1 })]).toEqual([
    'a',
    '',
    '{"text":"a","n":1}',
  ]);
  expect([finishReason({ finish_reason: 'length' }), finishReason('x')]).toEqual(['length', 'stop']);
});

test('a text that grew and then changed is sent whole at the end', () => {
  const block = (offset: number, piece: string, visit = 1): string => {
    const place = { task: '/do/0/ask', visit, attempt: 1 };
    return `event: x\ndata: ${JSON.stringify({ type: PARTIAL.output, ...place, offset, text: piece })}\n\n`;
  };
  const growing = new GrowingText();
  const take = (...blocks: string[]) => piecesOf(blocks).map((piece) => growing.add(piece));
  expect(take(block(0, 'On'), block(2, 'ce'), ': heartbeat\n\n')).toEqual(['On', 'ce']);
  expect(growing.rest('Once upon')).toBe(' upon');
  // The output began anew.
  expect(take(block(0, 'Twice'))).toEqual(['']);
  expect(growing.rest('Twice upon')).toBe('\n\nTwice upon');
  // The next turn of the model.
  expect(take(block(0, 'Two ', 2), block(4, 'turns', 2))).toEqual(['\n\nTwo ', 'turns']);
  expect(growing.rest('Two turns.')).toBe('.');
  // The beginning of the next one was lost.
  expect(take(block(3, 'ee', 3))).toEqual(['']);
  expect(growing.rest('Three')).toBe('\n\nThree');
});

describe('parameters', () => {
  const base = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
  const problemOf = (more: object): string | null => {
    try {
      parseChatRequest({ ...base, ...more });
      return null;
    } catch (error) {
      return error instanceof AppError ? (error.errors?.[0]?.pointer ?? '') : String(error);
    }
  };
  test('that change nothing are accepted', () => {
    const neutral = {
      n: 1,
      tools: [],
      tool_choice: 'auto',
      response_format: { type: 'text' },
      stop: null,
      temperature: 2,
      logprobs: false,
      modalities: ['text'],
      max_tokens: 5,
      user: 'u',
      stream_options: null,
    };
    expect(problemOf(neutral)).toBeNull();
  });
  test('that cannot be met are named', () => {
    for (const [name, value] of Object.entries({
      n: 2,
      tools: [{}],
      stop: 'x',
      logprobs: true,
      modalities: ['audio'],
      prediction: {},
      colour: 1,
      stream: 'yes',
      messages: [],
      model: 5,
      __proto: 1,
      constructor: 1,
    }))
      expect([name, problemOf({ [name]: value })]).toEqual([name, name]);
    expect(problemOf({ messages: [{ role: 'assistant', tool_calls: [{}] }] })).toBe('messages[0].tool_calls');
    expect(problemOf({ messages: Array.from({ length: 3_000 }, () => base.messages[0]) })).toBe('messages');
  });
});

test('names of tools are legal, and lead back to their record', () => {
  const id = '0199a1b2-0000-7000-8000-0123456789ab';
  for (const name of ['A', 'Übersetzung & mehr', '漢字', 'x'.repeat(255), '--']) {
    const tool = toolName({ kind: 'workflow', id, name });
    expect(tool).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(sourceOfName(tool)).toEqual({ kind: 'workflow', digits: '0123456789ab' });
  }
  expect(sourceOfName('get_run')).toBeNull();
});

test('schemas that cannot be moved into a tool are left open', () => {
  const source = { kind: 'agent' as const, id: '', name: '', description: null, type: 'api' };
  const rest = { execution_type: null, has_prompt: false, output_schema: null };
  const inputOf = (input_schema: Record<string, unknown> | null) =>
    toolInput({ ...source, ...rest, input_schema });
  const whole = inputOf({ $id: 'https://x', type: 'string' });
  expect(whole.schema).toEqual({ type: 'object', properties: { input: {} }, required: ['input'] });
  expect(whole.inputOf({ input: 5 })).toBe(5);
  expect(inputOf({ type: 'object', $id: 'https://x' }).schema).toMatchObject({ $id: 'https://x' });
  expect(runResultSchema({ $ref: 'https://elsewhere' })['properties']).toMatchObject({ output: {} });
});
