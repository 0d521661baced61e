/** Push notifications as a kind of delivery target: the updates of one task, as the version of its config writes them. */
import { createHash } from 'node:crypto';
import { Task } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import { SignJWT } from 'jose';
import { v7 as uuidv7 } from 'uuid';

import { isInterruptedState } from '../../contracts/a2a.ts';
import type { A2ATask, A2AUpdate } from '../../contracts/a2a.ts';
import type { EntityManager, Orm } from '../../db/orm.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import type { DeliveryKind, Message } from '../delivery/kind.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { linksOf } from './file-links.ts';
import { presentTask, type Presenting } from './present.ts';
import { openPushConfig, type PushConfigRow, type WireVersion } from './push-configs.ts';
import { openQuestions } from './send.ts';
import { readMessages, TASK_ROW, type TaskRow } from './task-row.ts';
import { updatesOf } from './updates.ts';

export interface PushKindDeps {
  orm: Orm;
  encryption: Encryption;
  keys: SigningKeys;
  baseUrl: string;
}

const TOKEN_SECONDS = 300;

export function pushKind(deps: PushKindDeps): DeliveryKind {
  return {
    async build(em, event, target) {
      const [row] = await em.execute<TaskRow[]>(`select ${TASK_ROW} from a2a_task t join run r on r.id = t.id where t.id = ?`, [event.run_id]);
      if (!row) return [];
      const messages = (await readMessages(em, [row])).get(row.id) ?? [];
      const presenting = await presentingOf(deps, em, row);
      // The updates that streams show, with the ids that streams give them.
      const items = updatesOf(event, row, messages, presenting);
      const version: WireVersion = target.config['wire_version'] === '0.3' ? '0.3' : '1.0';
      return items.map(({ id, update }): Message => ({
        message_id: `${row.id}-${id.replace('.', '-')}`,
        type: event.type,
        ...(version === '1.0'
          ? { content_type: 'application/a2a+json', body: JSON.stringify(update) }
          : { content_type: 'application/json', body: legacyTask(taskAt(row, messages, presenting, update)) }),
      }));
    },

    async headers({ message_id: id, body, at }, target) {
      const config = await configOf(deps, target.id);
      const headers: Record<string, string> = { 'a2a-notification-id': id, 'user-agent': 'Cadenza-A2A/1.0' };
      if (!config) return headers;
      const { token, authentication } = config;
      if (token !== undefined) headers['x-a2a-notification-token'] = token;
      if (authentication?.credentials) headers['authorization'] = `${authentication.scheme} ${authentication.credentials}`;
      else headers['authorization'] = `Bearer ${await signed(deps, target.url, id, body, at)}`;
      return headers;
    },
  };
}

/** Proves who sends it: keys at `/.well-known/jwks.json`, `body_sha256` says what was sent. */
async function signed({ keys, baseUrl }: PushKindDeps, url: string, id: string, body: string, at: Date): Promise<string> {
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

async function configOf({ orm, encryption }: PushKindDeps, targetId: string): Promise<ReturnType<typeof openPushConfig> | null> {
  const [row] = await orm.em.fork().execute<PushConfigRow[]>('select * from a2a_push_config where target_id = ?', [targetId]);
  return row ? openPushConfig(encryption, row) : null;
}

async function presentingOf(deps: PushKindDeps, em: EntityManager, row: TaskRow): Promise<Presenting> {
  const open = isInterruptedState(row.state) ? await openQuestions(em, row) : [];
  return { link: await linksOf({ ...deps, em }, row), asks: open.length > 0, answerable: open.length > 0, extensions: [] };
}

/** The bare Task of 0.3, as JSON. */
function legacyTask(task: A2ATask): string {
  return new V03PushNotificationSerializer().serialize({ payload: { $case: 'task', value: Task.fromJSON(task) } }, undefined).body;
}

/** The whole task, with the status that this update brought. */
function taskAt(row: TaskRow, messages: Parameters<typeof presentTask>[1], presenting: Presenting, update: A2AUpdate): A2ATask {
  const task = presentTask(row, messages, presenting);
  return 'statusUpdate' in update ? { ...task, status: update.statusUpdate.status } : task;
}
