/** What tools return about runs. */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';

import { isRecord } from '../../contracts/is-record.ts';
import { isTerminal } from '../../contracts/run-events.ts';
import type { RunRow } from '../../domain/runs/row.ts';
import { outputText } from '../openai/conversation.ts';

/** Of JSON. A larger output is read as a resource. */
const MAX_OUTPUT_CHARACTERS = 512 * 1024;
const MAX_LINKS = 50;

export const fileUri = (id: string): string => `cadenza://files/${id}`;
export const runUri = (id: string): string => `cadenza://runs/${id}`;

type ShownRun = Pick<RunRow, 'id' | 'status' | 'output' | 'error' | 'waiting_on'>;

export function runResult(run: ShownRun): CallToolResult {
  const { id: run_id, status } = run;
  if (!isTerminal(status)) {
    return {
      content: [{ type: 'text', text: unfinishedText(run) }],
      structuredContent: { run_id, status, waiting_for: run.waiting_on.slice(0, 20) },
    };
  }
  if (status !== 'completed') {
    const reason = [run.error?.title, run.error?.detail]
      .filter((part) => typeof part === 'string')
      .join(': ');
    const word = status === 'cancelled' ? 'was cancelled' : 'failed';
    return {
      isError: true,
      content: [{ type: 'text', text: [`The run ${run_id} ${word}`, reason].filter(Boolean).join(': ') }],
      structuredContent: { run_id, status, ...(run.error === null ? {} : { error: run.error }) },
    };
  }
  const json = JSON.stringify(run.output ?? null);
  if (json.length > MAX_OUTPUT_CHARACTERS) {
    const size = `The output has ${json.length} characters of JSON: read it as a resource.`;
    return {
      content: [
        { type: 'text', text: size },
        {
          type: 'resource_link',
          uri: runUri(run_id),
          name: `Output of run ${run_id}`,
          mimeType: 'application/json',
        },
      ],
      structuredContent: { run_id, status },
    };
  }
  return {
    content: [{ type: 'text', text: outputText(run.output) }, ...fileLinks(run.output)],
    structuredContent: { run_id, status, output: run.output ?? null },
  };
}

function unfinishedText({ id, status, waiting_on: waiting }: ShownRun): string {
  const asks = waiting.some(({ kind }) => kind === 'human');
  return (
    `The run ${id} is ${status}${asks ? ', because it waits for a person to decide' : ''}. It goes on by ` +
    `itself: call get_run with {"run_id": "${id}", "wait_seconds": 45} for its result.`
  );
}

/** The files that an output refers to. */
function fileLinks(output: unknown): ContentBlock[] {
  const found = new Map<string, ContentBlock>();
  const pending: unknown[] = [output];
  while (pending.length > 0 && found.size < MAX_LINKS) {
    const value = pending.pop();
    if (isRecord(value) && typeof value['file_id'] === 'string') {
      const { file_id: id, name, media_type: mimeType } = value;
      found.set(id as string, {
        type: 'resource_link',
        uri: fileUri(id as string),
        name: typeof name === 'string' ? name : 'file',
        ...(typeof mimeType === 'string' ? { mimeType } : {}),
      });
    } else if (typeof value === 'object' && value !== null)
      for (const item of Object.values(value).toReversed()) pending.push(item);
  }
  return [...found.values()];
}

export function toolError(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}

/** A record as a result. */
export function recordResult(record: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(record) }], structuredContent: record };
}
