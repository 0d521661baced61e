import { expect } from '@jest/globals';
import type { AgentCall, CallFiles, HttpCall, PinnedAgent } from '../../domain/ports.ts';

function pinnedAgent(more: Partial<PinnedAgent> = {}): PinnedAgent {
  return {
    id: '0198c7a0-0000-7000-8000-000000000001',
    owner_id: '0198c7a0-0000-7000-8000-000000000002',
    name: 'tester',
    version: '1.0.0',
    type: 'api',
    execution_type: null,
    url: null,
    configuration: {},
    input_schema: {},
    output_schema: {},
    authentication_type: null,
    authentication_config: null,
    capabilities_streaming: false,
    ...more,
  };
}

interface CallOptions {
  secrets?: Record<string, string>;
  timeoutMs?: number;
  signal?: AbortSignal;
}

function common(options: CallOptions) {
  return {
    idempotencyKey: 'run-1/do/0/call/1/1',
    timeoutMs: options.timeoutMs ?? 60_000,
    signal: options.signal ?? new AbortController().signal,
    secret: async (name: string) => options.secrets?.[name] ?? null,
  };
}

export function agentCall(agent: Partial<PinnedAgent>, input: unknown, options: CallOptions = {}): AgentCall {
  return { agent: pinnedAgent(agent), input, ...common(options) };
}

export function httpCall(args: Record<string, unknown>, options: CallOptions = {}): HttpCall {
  return { with: args, ...common(options) };
}

/** The fault that ends a call; `kind` is the last segment of its type. */
export async function faultOf(
  call: Promise<unknown>,
): Promise<{ kind: string | undefined; status: number; detail: string }> {
  const error: any = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect({ name: error?.name, error }).toMatchObject({ name: 'Fault' });
  return { kind: error.error.type.split('/').pop(), status: error.error.status, detail: error.error.detail };
}

/** The files of a run that has none and cannot store any. */
export const noFiles: CallFiles = {
  store: async () => Promise.reject(new Error('nothing is to be stored')),
  read: async () => null,
  open: async () => null,
  link: async () => null,
};
