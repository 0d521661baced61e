/** Conductor: its server with PostgreSQL for everything (its settings for that), HTTP tasks in the server. */
import { ownPort } from '../../support/machine.ts';
import type { Steps } from '../beside/world.ts';
import { fetchFromMaven, javaFrom } from './install.ts';
import { callJson, repeat, waitFor, type StartPeer } from './peer.ts';

const VERSION = '3.32.3';
/** Of the server; it loads 450 MB. */
const START_MS = 240_000;

interface Execution {
  status: string;
  tasks: { status: string }[];
}

export const startConductor: StartPeer = async ({ folder, agentUrl, createDatabase, start }) => {
  const java = javaFrom(21);
  const jar = fetchFromMaven(`conductor-${VERSION}`, `org.conductoross:conductor-server:${VERSION}:jar:boot`);
  const database = await createDatabase('conductor');
  const port = await ownPort();
  const settings = {
    'server.port': port,
    'server.address': '127.0.0.1',
    'conductor.db.type': 'postgres',
    'conductor.queue.type': 'postgres',
    'conductor.external-payload-storage.type': 'postgres',
    'conductor.indexing.enabled': true,
    'conductor.indexing.type': 'postgres',
    'conductor.elasticsearch.version': 0,
    'spring.datasource.url': `jdbc:postgresql://${database.host}${database.pathname}`,
    'spring.datasource.username': database.username,
    'spring.datasource.password': decodeURIComponent(database.password),
    'logging.level.root': 'error',
  };
  const args = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  await start(java, ['-Xmx1g', '-jar', jar, ...args], {
    ports: [port],
    cwd: folder,
    startMs: START_MS,
  });
  const api = `http://127.0.0.1:${port}/api`;
  await waitFor('starting Conductor', async () => (await fetch(`${api}/metadata/workflow`)).ok);
  const step = (i: number) => ({
    name: 'call',
    taskReferenceName: `call${i}`,
    type: 'HTTP',
    inputParameters: { http_request: { uri: agentUrl, method: 'POST', body: { step: i } } },
  });
  const define = async (name: string, tasks: unknown[]): Promise<void> => {
    const more = { ownerEmail: 'bench@example.com', timeoutSeconds: 0, timeoutPolicy: 'ALERT_ONLY' };
    await callJson(`${api}/metadata/workflow`, { name, version: 1, schemaVersion: 2, tasks, ...more });
  };
  for (const steps of [1, 10, 100] satisfies Steps[])
    await define(
      `sequence${steps}`,
      Array.from({ length: steps }, (_unused, i) => step(i)),
    );
  await define('question', [{ name: 'ask', taskReferenceName: 'ask', type: 'HUMAN' }, step(0)]);
  const executionOf = (id: string): Promise<Execution> => callJson(`${api}/workflow/${id}`);
  const run = async (steps: Steps): Promise<void> => {
    const id = await callJson<string>(`${api}/workflow/sequence${steps}`, {});
    await waitFor('a run of Conductor', async () => {
      const { status } = await callJson<Execution>(`${api}/workflow/${id}?includeTasks=false`);
      if (status === 'FAILED') throw new Error('a run of Conductor failed');
      return status === 'COMPLETED';
    });
  };
  return {
    name: `Conductor ${VERSION}`,
    run,
    async ask() {
      const id = await callJson<string>(`${api}/workflow/question`, {});
      await waitFor('a question of Conductor', async () => {
        const { tasks } = await executionOf(id);
        return tasks[0]?.status === 'IN_PROGRESS';
      });
      return () => callJson(`${api}/tasks/${id}/ask/COMPLETED`, {});
    },
    fill: (count) => repeat(count, () => callJson(`${api}/workflow/sequence1`, {})),
    async list(count) {
      const query = `start=0&size=${count}&sort=startTime:DESC`;
      const found = await callJson<{ results: unknown[] }>(`${api}/workflow/search?${query}`);
      return found.results.length;
    },
  };
};
