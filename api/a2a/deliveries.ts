/**
 * `GET {agent}/tasks/{id}/deliveries`: the delivery log of a task's push notifications, newest first. This is
 * an extension of ours, so errors are the API's usual problem documents.
 */
import type { Context } from 'koa';

import type { A2AAgent } from '../../domain/a2a/agent.ts';
import { getTaskRow } from '../../domain/a2a/task-row.ts';
import { listDeliveries } from '../../domain/delivery/outbox.ts';
import type { AppDeps } from '../deps.ts';
import { requireScope } from '../scopes.ts';

const PATH = /^\/tasks\/([^/:]+)\/deliveries$/;
const LIMIT = 200;

/** @returns false if the request is for another path */
export async function answerDeliveries(
  ctx: Context,
  deps: AppDeps,
  target: A2AAgent,
  path: string,
): Promise<boolean> {
  const id = PATH.exec(path)?.[1];
  if (id === undefined || ctx.method !== 'GET') return false;
  requireScope(ctx.state['actor'], 'runs:read');
  const em = deps.orm.em.fork();
  const row = await getTaskRow(em, ctx.state['actor'], target.agent.id, id);
  const configs = await em.execute<
    { id: string; target_id: string; active: boolean; disabled_reason: string | null }[]
  >(
    `select c.id, c.target_id, t.active, t.disabled_reason
       from a2a_push_config c join delivery_target t on t.id = c.target_id
      where c.task_id = ? order by c.created_at, c.id`,
    [row.id],
  );
  const listed = [];
  for (const config of configs) {
    const rows = await listDeliveries(em, config.target_id, {}, { limit: LIMIT });
    listed.push({
      config_id: config.id,
      active: config.active,
      disabled_reason: config.disabled_reason,
      deliveries: rows.map(
        ({
          message_id,
          type,
          seq,
          status,
          attempts,
          attempt_log,
          response_status,
          error,
          next_attempt_at,
          created_at,
          delivered_at,
        }) => ({
          message_id,
          type,
          seq,
          status,
          attempts,
          response_status,
          error,
          attempt_log,
          next_attempt_at,
          created_at,
          delivered_at,
        }),
      ),
    });
  }
  ctx.status = 200;
  ctx.body = JSON.stringify(listed);
  ctx.set('Content-Type', 'application/json');
  return true;
}
