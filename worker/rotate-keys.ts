/**
 * `npm run rotate-keys`: re-encrypts everything with the first of ENCRYPTION_KEYS, and reports when the other
 * keys can be removed (docs/operations.md).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { loadServerEnv, type ServerEnv } from '../config/env.ts';
import { createLogger } from '../config/logger.ts';
import { DELIVER_WORKFLOW, renewSignal, RUN_WORKFLOW } from '../contracts/temporal.ts';
import { createOrm, type Orm } from '../db/orm.ts';
import { createFileStore } from '../adapters/file-stores/create-file-store.ts';
import { createPayloadStore } from '../domain/files/payload-store.ts';
import { claimFileStore } from '../domain/files/store-identity.ts';
import {
  askToRenew,
  noteRunsMoved,
  rotatePayloads,
  rotateSealed,
  rotationStart,
} from '../domain/operations/rotate-keys.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { createEncryption } from '../domain/secrets/encryption.ts';
import { claimKeys } from '../domain/secrets/key-check.ts';
import { noteKeyInUse } from '../domain/secrets/key-use.ts';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { gatewayOf } from '../temporal/gateway.ts';
import { createResealer } from '../temporal/payload-codec.ts';

const DAY_MS = 86_400_000;

export interface RotationOptions {
  env: ServerEnv;
  say: (line: string) => void;
  /** How long to wait for runs; they continue by themselves afterwards. */
  waitMs?: number;
}

/**
 * @returns false if something could not be decrypted. @throws MissingKeys, WrongKeys, WrongFileStore, and
 * errors of database and store
 */
export async function rotateKeys({ env, say, waitMs = 60_000 }: RotationOptions): Promise<boolean> {
  const [current] = env.ENCRYPTION_KEYS;
  if (!current) throw new Error('ENCRYPTION_KEYS has no key');
  const keyId = current.id;
  const orm = createOrm({ url: env.DATABASE_URL });
  const fork = () => orm.em.fork();
  const files = await createFileStore(env);
  const store = createPayloadStore({ fork, files, inFiles: env.FILES_LARGE_VALUES });
  const client = createTemporalClient(
    temporalSettings(env),
    createDataConverter({ keys: env.ENCRYPTION_KEYS, store }),
  );
  try {
    await claimKeys(fork(), env.ENCRYPTION_KEYS);
    await noteKeyInUse(fork(), keyId);
    if (env.FILES_LARGE_VALUES) await claimFileStore(fork(), files);
    const startedAt = await rotationStart(
      fork(),
      keyId,
      env.ENCRYPTION_KEYS.map(({ id }) => id),
    );
    const deps = {
      fork,
      encryption: createEncryption(env.ENCRYPTION_KEYS),
      keyId,
      files,
      reseal: createResealer(env.ENCRYPTION_KEYS),
    };
    const sealed = await rotateSealed(deps);
    say(
      'secrets, signing keys, webhooks and push notification configs: ' +
        `${sealed.done} put under the key "${keyId}"`,
    );
    const payloads = await rotatePayloads(deps);
    say(`large values of runs: ${payloads.done} put under the key "${keyId}"`);
    const failed = [...sealed.failed, ...payloads.failed];
    for (const item of failed)
      say(`cannot be decrypted with the keys of ENCRYPTION_KEYS, and stays as it is: ${item}`);
    await renewRuns(orm, client, env, keyId, say);
    await reportRuns({ client, env, orm, keyId, startedAt, waitMs, say });
    return failed.length === 0;
  } finally {
    await Promise.allSettled([orm.close(true), client.connection.close()]);
  }
}

async function renewRuns(
  orm: Orm,
  client: Client,
  env: ServerEnv,
  keyId: string,
  say: RotationOptions['say'],
): Promise<void> {
  const temporal = gatewayOf(client, env);
  let asked = 0;
  for (;;) {
    const ids = await askToRenew(orm.em.fork(), keyId);
    if (ids.length === 0) break;
    asked += ids.length;
    // The reconciler resends signals that do not arrive now.
    await deliverSignals({ orm, temporal }, ids);
  }
  say(`active runs: ${asked} asked to continue in a new execution`);
}

interface Report {
  client: Client;
  env: ServerEnv;
  orm: Orm;
  keyId: string;
  startedAt: Date;
  waitMs: number;
  say: RotationOptions['say'];
}

/**
 * Reports the executions that Temporal still has open from before the rotation. Each continues in a new
 * execution as soon as no call of it is active.
 */
async function reportRuns({ client, env, orm, keyId, startedAt, waitMs, say }: Report): Promise<void> {
  // Other installations in the namespace have their own task queues and keys.
  const ours =
    `ExecutionStatus = 'Running' and TaskQueue = '${env.TEMPORAL_TASK_QUEUE}' ` +
    `and StartTime < '${startedAt.toISOString()}'`;
  const query = `${ours} and WorkflowType in ('${RUN_WORKFLOW}', '${DELIVER_WORKFLOW}')`;
  await renewDeliveries(client, `${ours} and WorkflowType = '${DELIVER_WORKFLOW}'`);
  const left = async (): Promise<number> =>
    Number(
      (await client.workflowService.countWorkflowExecutions({ namespace: env.TEMPORAL_NAMESPACE, query }))
        .count,
    );
  let open = await left();
  for (const deadline = Date.now() + waitMs; open > 0 && Date.now() < deadline; open = await left())
    await sleep(Math.min(1_000, waitMs));
  if (open > 0) {
    say(
      `${open} open executions are still on an older key: ` +
        "those that wait for an agent's answer continue afterwards. " +
        'Keep all keys, and run this again later.',
    );
    return;
  }
  const { config } = await client.workflowService.describeNamespace({ namespace: env.TEMPORAL_NAMESPACE });
  const retentionMs = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1_000;
  for (const { id, since } of await noteRunsMoved(orm.em.fork(), keyId)) {
    if (!env.ENCRYPTION_KEYS.some((key) => key.id === id)) continue;
    const from = new Date(since.getTime() + retentionMs);
    const when =
      from.getTime() <= Date.now() ? 'can be removed now' : `can be removed after ${from.toISOString()}`;
    say(
      `the key "${id}" ${when}: Temporal keeps histories of ended runs for ` +
        `${retentionMs / DAY_MS} days, and they cannot be changed`,
    );
  }
}

/** Renews delivery workflows that wait for their next attempt; one that has ended meanwhile is ignored. */
async function renewDeliveries(client: Client, query: string): Promise<void> {
  for await (const { workflowId } of client.workflow.list({ query })) {
    await client.workflow
      .getHandle(workflowId)
      .signal(renewSignal)
      .catch((error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      });
  }
}

if (import.meta.main) {
  const env = loadServerEnv();
  const logger = createLogger({ level: env.LOG_LEVEL, name: 'rotate-keys' });
  const ok = await rotateKeys({ env, say: (line) => process.stdout.write(`${line}\n`) }).catch(
    (error: unknown) => {
      logger.fatal({ err: error }, 'the keys were not all rotated; run it again to continue');
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      return false;
    },
  );
  process.exit(ok ? 0 : 1);
}
