/** A server that answers LangGraph's client as a script says, for what a real one never does. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { sendJson, startServer, type TestServer } from '../http-server.ts';

interface Script {
  /** The state of a thread after the run of this number, from 0. */
  state: (run: number) => unknown;
  status?: (run: number) => string;
  /** Answers a request itself. @returns whether it did */
  instead?: (path: string, method: string, response: ServerResponse) => boolean;
  events?: string;
}

export interface ScriptedGraph extends TestServer {
  /** Bodies of the requests that created runs. */
  created: Record<string, any>[];
  cancelled: string[];
}

export async function startScriptedGraph({
  state,
  status,
  instead,
  events = '',
}: Script): Promise<ScriptedGraph> {
  const created: (Record<string, any> & { run_id: string })[] = [];
  const cancelled: string[] = [];
  const runOf = (number: number) => ({
    ...created[number],
    status: status?.(number) ?? 'success',
  });
  const server = await startServer((request, response) => {
    const path = request.path.split('?')[0] ?? '';
    if (instead?.(path, request.method, response)) return undefined;
    const runId = /\/runs\/([^/]+)/.exec(path)?.[1];
    const number = created.findIndex((run) => run.run_id === runId);
    if (path === '/threads') return sendJson(response, { thread_id: JSON.parse(request.body).thread_id });
    if (path.endsWith('/state')) return sendJson(response, state(created.length - 1));
    if (path.endsWith('/cancel')) {
      cancelled.push(String(runId));
      return sendJson(response, {});
    }
    if (path.endsWith('/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void response.end(events);
    }
    if (path.endsWith('/runs') && request.method === 'GET')
      return sendJson(response, created.map((_run, index) => runOf(index)).toReversed());
    if (path.endsWith('/runs')) {
      created.push({ ...JSON.parse(request.body), run_id: randomUUID() });
      return sendJson(response, runOf(created.length - 1));
    }
    return number < 0 ? sendJson(response, { detail: 'not found' }, 404) : sendJson(response, runOf(number));
  });
  return { ...server, created, cancelled };
}
