/** LangGraph: the library, with its checkpoints in PostgreSQL, in a process of Python that answers HTTP. */
import { join } from 'node:path';
import { ownPort } from '../../support/machine.ts';
import { fetchFromPypi } from './install.ts';
import { callJson, repeat, type StartPeer } from './peer.ts';

const VERSION = '1.2.22';
const PACKAGES = [
  `langgraph==${VERSION}`,
  'langgraph-checkpoint-postgres==3.2.0',
  'psycopg[binary,pool]==3.3.9',
  'aiohttp==3.14.5',
  'starlette==0.50.0',
  'uvicorn==0.38.0',
];

export const startLangGraph: StartPeer = async ({ agentUrl, createDatabase, start }) => {
  const python = fetchFromPypi(`langgraph-${VERSION}`, PACKAGES);
  const database = await createDatabase('langgraph');
  const port = await ownPort();
  await start(
    python,
    [join(import.meta.dirname, 'langgraph-service.py'), String(port), agentUrl, database.href],
    { ports: [port], env: { LANGSMITH_TRACING: 'false' } },
  );
  const api = `http://127.0.0.1:${port}`;
  const run = (steps: number): Promise<unknown> => callJson(`${api}/run/${steps}`, {});
  return {
    name: `LangGraph ${VERSION}`,
    run,
    async ask() {
      const { thread } = await callJson<{ thread: string }>(`${api}/ask`, {});
      return () => callJson(`${api}/decide/${thread}`, {});
    },
    fill: (count) => repeat(count, () => run(1)),
    list: async (count) => (await callJson<unknown[]>(`${api}/runs?limit=${count}`)).length,
  };
};
