/** Restate: its server, one node with its log and state on disk, and a service in a process of its own. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ownPort } from '../../support/machine.ts';
import { fetchFromNpm } from './install.ts';
import { callJson, repeat, waitFor, type StartPeer } from './peer.ts';

const SERVER = '1.7.12';
const SDK = '1.17.2';

export const startRestate: StartPeer = async ({ folder, agentUrl, start }) => {
  const packages = join(
    fetchFromNpm(`restate-${SERVER}`, [
      `@restatedev/restate-server@${SERVER}`,
      `@restatedev/restate-sdk@${SDK}`,
    ]),
    'node_modules',
  );
  const [ingressPort, adminPort, nodePort, servicePort] = await Promise.all(
    Array.from({ length: 4 }, () => ownPort()),
  );
  await start(
    join(packages, '.bin/restate-server'),
    ['--node-name', 'bench', '--base-dir', join(folder, 'restate')],
    {
      ports: [Number(ingressPort), Number(adminPort)],
      cwd: folder,
      env: {
        RESTATE_LISTEN_MODE: 'tcp',
        RESTATE_BIND_IP: '127.0.0.1',
        RESTATE_BIND_PORT: String(nodePort),
        RESTATE_INGRESS__BIND_PORT: String(ingressPort),
        RESTATE_ADMIN__BIND_PORT: String(adminPort),
        RESTATE_DISABLE_TELEMETRY: 'true',
        RESTATE_LOG_FILTER: 'warn',
      },
    },
  );
  await start(
    process.execPath,
    [
      join(import.meta.dirname, 'restate-service.mjs'),
      join(packages, '@restatedev/restate-sdk'),
      String(servicePort),
      agentUrl,
    ],
    { ports: [Number(servicePort)] },
  );
  const [ingress, admin] = [`http://127.0.0.1:${ingressPort}`, `http://127.0.0.1:${adminPort}`];
  await waitFor('registering the service', async () => {
    await callJson(`${admin}/deployments`, { uri: `http://127.0.0.1:${servicePort}` });
    return true;
  });
  const run = (steps: number): Promise<unknown> => callJson(`${ingress}/sequence/run`, steps);
  return {
    name: `Restate ${SERVER}`,
    run,
    async ask() {
      const question = `${ingress}/question/${randomUUID()}`;
      await callJson(`${question}/run/send`, {});
      return () => callJson(`${question}/decide`, 'approve');
    },
    fill: (count) => repeat(count, () => run(1)),
    async list(count) {
      const query = `select id, target, status, created_at from sys_invocation limit ${count}`;
      // Arrow otherwise.
      const accept = 'application/json';
      return (await callJson<{ rows: unknown[] }>(`${admin}/query`, { query }, accept)).rows.length;
    },
  };
};
