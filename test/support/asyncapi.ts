/** `call: asyncapi` by the adapter itself, with a document that a server has. */
import { createAdapters, createEgressPolicy } from '../../adapters/index.ts';
import { template } from '../../language/expressions/index.ts';
import { httpCall } from './agent-call.ts';
import { sendJson, startServer, type TestServer } from './http-server.ts';

export interface AsyncCallOptions {
  secrets?: Record<string, string>;
  timeoutMs?: number;
  signal?: AbortSignal;
  allow?: string[];
  /** Of the idempotency; calls with the same are the same. */
  key?: string;
}

// Tests read any property of a result.
export async function callAsync(
  args: Record<string, unknown>,
  { allow = ['127.0.0.1'], key, ...options }: AsyncCallOptions = {},
): Promise<any> {
  const egress = createEgressPolicy({ allow });
  const condition = (source: string, value: unknown): boolean =>
    template(source, { mode: 'loose' }).first(value, { variables: {} }) === true;
  const prepared = { ...httpCall(args, options), test: condition, ...(key ? { idempotencyKey: key } : {}) };
  try {
    return (await createAdapters({ egress }).asyncapi(prepared)).output;
  } finally {
    await egress.close();
  }
}

/** Serves each document at `/<name>`. */
export function serveDocuments(documents: Record<string, unknown>): Promise<TestServer> {
  return startServer(({ path }, response) => {
    const document = documents[path.slice(1)];
    sendJson(response, document ?? {}, document === undefined ? 404 : 200);
  });
}
