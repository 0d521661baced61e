/** Prefect: its server on PostgreSQL, and flows in a process that stays, because a new one takes seconds. */
import { join } from 'node:path';
import { ownPort } from '../../support/machine.ts';
import { fetchFromPypi } from './install.ts';
import { callJson, repeat, waitFor, type StartPeer } from './peer.ts';

const VERSION = '3.8.6';
/** Its server does not start with later versions of FastAPI. */
const PACKAGES = [`prefect==${VERSION}`, 'fastapi==0.139.0'];
const START_MS = 180_000;
/** The largest that the server allows. */
const PAGE = 200;

interface FlowRun {
  id: string;
  flow_id: string;
}

export const startPrefect: StartPeer = async ({ folder, agentUrl, createDatabase, start }) => {
  const python = fetchFromPypi(`prefect-${VERSION}`, PACKAGES);
  const database = await createDatabase('prefect');
  database.protocol = 'postgresql+asyncpg:';
  const [serverPort, servicePort] = [await ownPort(), await ownPort()];
  const api = `http://127.0.0.1:${serverPort}/api`;
  const env = {
    PREFECT_HOME: join(folder, 'prefect'),
    PREFECT_API_DATABASE_CONNECTION_URL: database.href,
    PREFECT_SERVER_ANALYTICS_ENABLED: 'false',
    DO_NOT_TRACK: '1',
    PREFECT_API_URL: api,
    PREFECT_LOGGING_LEVEL: 'WARNING',
  };
  const where = ['--host', '127.0.0.1', '--port', String(serverPort)];
  await start(python, ['-m', 'prefect', 'server', 'start', '--no-ui', ...where], {
    ports: [serverPort],
    env,
    startMs: START_MS,
  });
  await waitFor('starting Prefect', async () => (await fetch(`${api}/health`)).ok);
  await start(python, [join(import.meta.dirname, 'prefect-service.py'), String(servicePort), agentUrl], {
    ports: [servicePort],
    env,
    startMs: START_MS,
  });
  const flows = `http://127.0.0.1:${servicePort}`;
  const readPage = (offset: number): Promise<FlowRun[]> =>
    callJson(`${api}/flow_runs/filter`, { limit: PAGE, offset, sort: 'START_TIME_DESC' });
  return {
    name: `Prefect ${VERSION}`,
    run: (steps) => callJson(`${flows}/run/${steps}`, {}),
    async ask() {
      const { id } = await callJson<{ id: string }>(`${flows}/ask`, {});
      await waitFor('a question of Prefect', async () => {
        const { state } = await callJson<{ state: { type: string } }>(`${api}/flow_runs/${id}`);
        return state.type === 'PAUSED';
      });
      return () => callJson(`${api}/flow_runs/${id}/resume`, {});
    },
    async fill(count) {
      // Recorded as ended: to execute so many takes minutes.
      const [{ flow_id } = { flow_id: '' }] = await readPage(0);
      await repeat(count, () => callJson(`${api}/flow_runs/`, { flow_id, state: { type: 'COMPLETED' } }));
    },
    async list(count) {
      let found = 0;
      for (let page = PAGE; page === PAGE && found < count; found += page)
        page = (await readPage(found)).length;
      return found;
    },
  };
};
