/** Checks of Temporal: reachable, version, namespace, search attributes, workers, clock. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';

import { counted } from '../../../contracts/counted.ts';
import type { Env } from '../../../config/env.ts';
import { SEARCH_ATTRIBUTES } from '../../../contracts/temporal.ts';
import { createTemporalClient, temporalSettings } from '../../../temporal/client.ts';
import { clockFinding, error, ok, warn, type Finding } from './finding.ts';

const CALL_MS = 8_000;
/** TASK_QUEUE_TYPE_WORKFLOW and TASK_QUEUE_TYPE_ACTIVITY */
const [WORKFLOWS, ACTIVITIES] = [1, 2];
/** Temporal refuses a long poll with less than two seconds, and warns below twenty. */
const POLL_MS = 30_000;
const NOTED_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 50;

/** `expectedId`: of the namespace that has the runs of the database; null if no process has noted it. */
export async function temporalFindings(
  env: Env,
  address: string,
  expectedId: string | null = null,
): Promise<Finding[]> {
  const client = createTemporalClient(temporalSettings({ ...env, TEMPORAL_ADDRESS: address }));
  try {
    return await client.withDeadline(Date.now() + CALL_MS, () => findings(client, env, address, expectedId));
  } finally {
    await client.connection.close();
  }
}

async function findings(
  client: Client,
  env: Env,
  address: string,
  expectedId: string | null,
): Promise<Finding[]> {
  const { TEMPORAL_NAMESPACE: namespace, TEMPORAL_TASK_QUEUE: queue } = env;
  const { serverVersion } = await client.workflowService.getSystemInfo({});
  const server = ok('temporal', `version ${serverVersion || 'unknown'} on ${address}`);
  const described = await client.workflowService.describeNamespace({ namespace }).catch(() => null);
  if (described === null) {
    const todo = `Create it (temporal operator namespace create -n ${namespace}), or set TEMPORAL_NAMESPACE.`;
    return [server, error('namespace', `Temporal has no namespace ${namespace}. ${todo}`)];
  }
  if (expectedId !== null && described.namespaceInfo?.id !== expectedId)
    return [
      server,
      error(
        'namespace',
        `${namespace} on ${address} does not have the runs of this database. Check TEMPORAL_ADDRESS and ` +
          "TEMPORAL_NAMESPACE; if Temporal's data was lost or moved, see ACCEPT_NEW_TEMPORAL.",
      ),
    ];
  const days = Number(described.config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 86_400;
  return [
    server,
    ok('namespace', `${namespace} keeps ended runs for ${counted(days, 'day')}`),
    await attributesFinding(client, namespace),
    await workersFinding(client, namespace, queue),
    await clockOf(client, namespace),
  ];
}

async function attributesFinding(client: Client, namespace: string): Promise<Finding> {
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.values(SEARCH_ATTRIBUTES).filter((name) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return ok('search attributes', 'all are there');
  const commands = missing.map(
    (name) => `temporal operator search-attribute create -n ${namespace} --name ${name} --type Keyword`,
  );
  return warn('search attributes', `${missing.join(', ')} missing. Run: ${commands.join('; ')}`);
}

async function workersFinding(client: Client, namespace: string, queue: string): Promise<Finding> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType: WORKFLOWS,
  });
  const count = new Set(pollers?.map(({ identity }) => identity)).size;
  return count > 0
    ? // Temporal lists who has polled in the last minutes, also workers that have ended since.
      ok(
        'workers',
        `${count} ${count === 1 ? 'has' : 'have'} polled the task queue ${queue} in the last minutes`,
      )
    : error(
        'workers',
        `none polls the task queue ${queue}: runs do not advance. Start a worker, see its log.`,
      );
}

/**
 * Temporal tells its time only of what happens to it: a poll of our own, of a task queue that nobody else
 * has, is noted with the time at which it came.
 */
async function clockOf(client: Client, namespace: string): Promise<Finding> {
  const check = 'clock of temporal';
  const taskQueue = { name: `cadenza-doctor-${randomUUID()}` };
  const identity = 'cadenza-doctor';
  const begun = Date.now();
  const end = new AbortController();
  const poll = client
    .withAbortSignal(end.signal, () =>
      client.withDeadline(begun + POLL_MS, () =>
        client.workflowService.pollActivityTaskQueue({ namespace, taskQueue, identity }),
      ),
    )
    .catch(() => undefined);
  try {
    for (let seen = begun; seen - begun < NOTED_WITHIN_MS; seen = Date.now()) {
      const { pollers } = await client.workflowService.describeTaskQueue({
        namespace,
        taskQueue,
        taskQueueType: ACTIVITIES,
      });
      const at = pollers?.[0]?.lastAccessTime;
      if (at !== null && at !== undefined) {
        const noted = Number(at.seconds) * 1_000 + Number(at.nanos) / 1e6;
        const now = Date.now();
        return clockFinding(check, noted - (begun + now) / 2, (now - begun) / 2);
      }
      await sleep(LOOK_EVERY_MS);
    }
    return warn(check, 'could not be compared: Temporal did not note the time of a poll.');
  } finally {
    end.abort();
    await poll;
  }
}
