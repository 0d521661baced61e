import { describe, expect, test } from '@jest/globals';

import { SseParser, type SseEvent } from '../../../client/sse.ts';

const stream =
  ': connected\n\nid: 1\nevent: a.started\ndata: {"n":1}\n\n' +
  'event:b\ndata: line one\ndata:line two\n\nid: 7\n: heartbeat\n\ndata: é€😀\n\n';
const parsed: SseEvent[] = [
  { id: '1', type: 'a.started', data: '{"n":1}' },
  { id: '1', type: 'b', data: 'line one\nline two' },
  { id: '7', type: 'message', data: 'é€😀' },
];

function parse(chunks: readonly string[]): { events: SseEvent[]; parser: SseParser } {
  const parser = new SseParser();
  return { events: chunks.flatMap((chunk) => parser.push(chunk)), parser };
}

describe.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
])('with lines that end in %s', (_name, lineEnd) => {
  // Only the start of the next line shows that a CR at the end is not the first half of a CRLF.
  const text = `${stream.replaceAll('\n', lineEnd)}:`;

  test('the events are the same wherever the stream is cut in two', () => {
    for (let at = 0; at <= text.length; at += 1)
      expect([at, parse([text.slice(0, at), text.slice(at)]).events]).toEqual([at, parsed]);
  });

  test('the events are the same in chunks of any size', () => {
    for (let size = 1; size <= 20; size += 1) {
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
        text.slice(index * size, (index + 1) * size),
      );
      expect([size, parse(chunks).events]).toEqual([size, parsed]);
    }
  });
});

test('an id without data moves the position, as heartbeats of the event stream do', () => {
  const { events, parser } = parse(['id: 41\ndata: x\n\n', ': heartbeat\nid: 42\n\n']);
  expect([events.length, parser.lastEventId]).toEqual([1, '42']);
});

test('an event that is not complete does not move the position', () => {
  const { events, parser } = parse(['id: 1\ndata: x\n\nid: 2\ndata: y\n']);
  expect([events.length, parser.lastEventId]).toEqual([1, '1']);
});

test('an id with a null character is ignored, and an empty one resets the position', () => {
  expect(parse(['id: 1\ndata: x\n\nid: a\0b\ndata: y\n\n']).parser.lastEventId).toBe('1');
  expect(parse(['id: 1\ndata: x\n\nid\ndata: y\n\n']).parser.lastEventId).toBe('');
});

test('a byte order mark at the start is skipped, and only there', () => {
  expect(parse(['\uFEFFdata: x\n\ndata: \uFEFFy\n\n']).events.map(({ data }) => data)).toEqual([
    'x',
    '\uFEFFy',
  ]);
});

test('retry takes digits only', () => {
  expect(parse(['retry: 250\n\n']).parser.retryMs).toBe(250);
  expect(parse(['retry: soon\n\n']).parser.retryMs).toBeNull();
});
