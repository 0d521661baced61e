/**
 * `npm run conformance:a2a`: the platform with the conformance agents registered, until Ctrl-C. Prints one
 * JSON line when ready: `{"agents": {"full": <base URL>, "minimal": …, "extension": …}, "grpc": <host:port>,
 * "token": …}`. Over gRPC the agent's id, the last segment of its URL, is the tenant, as its card says.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createClient } from '../../support/app.ts';
import { conformanceAgents, conformanceDefinition } from './agents.ts';

const { env } = process;
const dataDir = env['DATA_DIR'] ?? mkdtempSync(join(tmpdir(), 'cadenza-conformance-'));
const password = env['ADMIN_PASSWORD'] ?? randomBytes(18).toString('base64url');
const up = spawn(process.execPath, [join(import.meta.dirname, '../../../dev/up.ts')], {
  env: {
    PORT: '0',
    TEMPORAL_PORT: '0',
    TEMPORAL_UI_PORT: '0',
    LOG_LEVEL: 'warn',
    ...env,
    DATA_DIR: dataDir,
    ADMIN_USERNAME: 'admin',
    ADMIN_PASSWORD: password,
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => up.kill(signal));
up.once('exit', (code) => {
  if (env['DATA_DIR'] === undefined) rmSync(dataDir, { recursive: true, force: true });
  process.exit(code ?? 1);
});

for await (const line of createInterface({ input: up.stdout })) {
  const url = /^ready (\S+)$/.exec(line)?.[1];
  if (url === undefined) {
    process.stderr.write(`${line}\n`);
  } else {
    process.stdout.write(`${JSON.stringify(await register(url))}\n`);
  }
}

async function register(
  url: string,
): Promise<{ agents: Record<string, string>; grpc: string | undefined; token: string }> {
  const { body } = await createClient(url).post('/auth/token', { username: 'admin', password });
  const client = createClient(url, body.access_token);
  const workflow = await created(
    client.post('/workflows', { name: 'a2a-conformance', definition: conformanceDefinition }),
  );
  if (!workflow.runnable) throw new Error(JSON.stringify(workflow.problems));
  const agents: Record<string, string> = {};
  for (const { key, body: agent } of conformanceAgents(workflow.id)) {
    const agentRecord = await created(client.post('/agents', agent));
    agents[key] = `${url}/api/v1/a2a/${agentRecord.id}`;
  }
  const card = await client.get(`${agents['full']}/.well-known/agent-card.json`, {
    headers: { 'A2A-Version': '1.0' },
  });
  const { url: grpc } =
    card.body.supportedInterfaces.find(
      ({ protocolBinding }: { protocolBinding: string }) => protocolBinding === 'GRPC',
    ) ?? {};
  return { agents, grpc, token: body.access_token };
}

async function created(reply: Promise<{ status: number; body: any }>): Promise<any> {
  const { status, body } = await reply;
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}
