import type { Client } from './app.ts';

export interface RunEvent {
  seq: number;
  type: string;
  task: string | null;
  message: string;
  data: Record<string, unknown>;
}

/** The complete log of a run, read page by page. */
export async function readLog(client: Client, runId: string): Promise<RunEvent[]> {
  const log: RunEvent[] = [];
  for (let path: string | null = `/runs/${runId}/logs?limit=200`; path !== null;) {
    const { body, headers } = await client.get(path);
    log.push(...(body as RunEvent[]));
    const next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    path = next === undefined ? null : new URL(next).pathname + new URL(next).search;
  }
  return log;
}
