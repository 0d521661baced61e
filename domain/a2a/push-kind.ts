/**
 * Push notifications as a kind of delivery target: the updates of one task, in the protocol version of its
 * config.
 */
import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';
import { v7 as uuidv7 } from 'uuid';

import {
  isInterruptedState,
  type A2ATask,
  type A2AUpdate,
  type WireVersion,
} from '../../contracts/a2a/objects.ts';
import type { EntityManager, Orm } from '../../db/orm.ts';
import { maySee, usableBy } from '../auth/ownership.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import type { DeliveryKind, Message } from '../delivery/kind.ts';
import type { PushNotificationFormat } from '../ports.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { linksOf } from './file-links.ts';
import { presentTask, type Presenting } from '../../contracts/a2a/task.ts';
import { OWNER_SEES_INSIDE } from '../runs/policy.ts';
import { openPushConfig, type PushConfigRow } from './push-configs.ts';
import { openQuestions } from './send.ts';
import { readMessages, TASK_ROW, type TaskRow } from './task-row.ts';
import { updatesOf } from '../../contracts/a2a/updates.ts';

export interface PushKindDeps {
  orm: Orm;
  encryption: Encryption;
  keys: SigningKeys;
  baseUrl: string;
  format: PushNotificationFormat;
}

const TOKEN_SECONDS = 300;

/** Also of an agent that a transfer is still handing over, which the new owner sees at its end only. */
const OWNER_USES_AGENT = `exists (select from agent a
    where a.id = t.agent_id and ${usableBy('a', 't.owner_id')})`;

type PushedRow = TaskRow & { inside: boolean; uses_agent: boolean };

export function pushKind(deps: PushKindDeps): DeliveryKind {
  return {
    async build(em, event, target, owner) {
      const [row] = await em.execute<PushedRow[]>(
        `select ${TASK_ROW}, ${OWNER_SEES_INSIDE} as inside, ${OWNER_USES_AGENT} as uses_agent
           from a2a_task t join run r on r.id = t.id where t.id = ?`,
        [event.run_id],
      );
      // As a stream ends: they do not find the task any more, and could not take the receiver away.
      if (!row || !(row.uses_agent || maySee(owner, row.agent))) return [];
      const messages = (await readMessages(em, [row])).get(row.id) ?? [];
      const presenting = await presentingOf(deps, em, row);
      // The same updates, with the same ids, that streams send.
      const items = updatesOf(event, row, messages, presenting);
      const version: WireVersion = target.config['wire_version'] === '0.3' ? '0.3' : '1.0';
      return items.map(({ id, update }): Message => ({
        message_id: `${row.id}-${id.replace('.', '-')}`,
        type: event.type,
        ...deps.format.write(version, update, () => taskAt(row, messages, presenting, update)),
      }));
    },

    async headers({ message_id: id, body, at }, target) {
      const config = await configOf(deps, target.id);
      const headers: Record<string, string> = { 'a2a-notification-id': id, 'user-agent': 'Cadenza-A2A/1.0' };
      if (!config) return headers;
      const { token, authentication } = config;
      if (token !== undefined) headers['x-a2a-notification-token'] = token;
      if (authentication?.credentials)
        headers['authorization'] = `${authentication.scheme} ${authentication.credentials}`;
      else headers['authorization'] = `Bearer ${await signed(deps, target.url, id, body, at)}`;
      return headers;
    },
  };
}

/** A JWT that authenticates the sender: keys at `/.well-known/jwks.json`, `body_sha256` covers the body. */
async function signed(
  { keys, baseUrl }: PushKindDeps,
  url: string,
  id: string,
  body: string,
  at: Date,
): Promise<string> {
  const { kid, privateKey } = await keys.current();
  const now = Math.floor(at.getTime() / 1000);
  return new SignJWT({ task_notification: id, body_sha256: createHash('sha256').update(body).digest('hex') })
    .setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' })
    .setIssuer(baseUrl)
    .setAudience(url)
    .setIssuedAt(now)
    .setExpirationTime(now + TOKEN_SECONDS)
    .setJti(uuidv7())
    .sign(privateKey);
}

async function configOf(
  { orm, encryption }: PushKindDeps,
  targetId: string,
): Promise<ReturnType<typeof openPushConfig> | null> {
  const [row] = await orm.em
    .fork()
    .execute<PushConfigRow[]>('select * from a2a_push_config where target_id = ?', [targetId]);
  return row ? openPushConfig(encryption, row) : null;
}

async function presentingOf(
  deps: PushKindDeps,
  em: EntityManager,
  row: TaskRow & { inside: boolean },
): Promise<Presenting> {
  const open = isInterruptedState(row.state) ? await openQuestions(em, row) : [];
  return {
    link: await linksOf({ ...deps, em }, row),
    asks: open.length > 0,
    answerable: open.length > 0,
    extensions: [],
    inside: row.inside,
    seen: new Set(),
  };
}

/** The whole task, with the status of this update. */
function taskAt(
  row: TaskRow,
  messages: Parameters<typeof presentTask>[1],
  presenting: Presenting,
  update: A2AUpdate,
): A2ATask {
  const task = presentTask(row, messages, presenting);
  return 'statusUpdate' in update ? { ...task, status: update.statusUpdate.status } : task;
}
