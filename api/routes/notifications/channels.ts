/** Chats that are told of human tasks. */
import * as z from 'zod';

import { CHAT_FORMATS, CHAT_SILENCES, NOTIFICATION_KINDS } from '../../../contracts/notification-kinds.ts';
import { heldBy } from '../../../domain/audit/write.ts';
import { chatMessage } from '../../../domain/notifications/chat-messages.ts';
import {
  createChannel,
  deleteChannel,
  getChannel,
  listChannels,
  moveChannel,
  openChannelUrl,
  updateChannel,
  type Channel,
} from '../../../domain/notifications/channels.ts';
import { postChat } from '../../../domain/notifications/deliver.ts';
import { STANDARD_RETRY } from '../../../domain/delivery/retry.ts';
import { conflict, forbidden } from '../../../domain/errors.ts';
import { getWorkflowForChange } from '../../../domain/registry/workflow-service.ts';
import { teamFor } from '../../../domain/teams/holding.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { byId, readPage } from '../../paging.ts';
import { personName } from '../../person-names.ts';
import { emptyBody, httpUrl, idParams, pageQuery, text, timestamp, uuid } from '../../schemas.ts';
import { hasScope } from '../../scopes.ts';

const TAGS = ['notifications'];
const kinds = z
  .array(z.enum(NOTIFICATION_KINDS))
  .min(1)
  .max(NOTIFICATION_KINDS.length)
  .meta({ description: 'What the chat is told. Default: everything.' });
const name = text({ min: 1, max: 100 });
const url = httpUrl(2_000).meta({ description: 'The address that the chat gave; it is never shown again.' });

const channelRecord = z
  .object({
    id: uuid,
    owner_id: uuid,
    owner_name: personName,
    name: z.string(),
    format: z.enum(CHAT_FORMATS),
    group: z.string().nullable().meta({ description: 'Tasks for this group; only admins set it.' }),
    workflow_id: uuid.nullable().meta({ description: 'Tasks of this workflow.' }),
    team_id: uuid.nullable().meta({
      description: 'Tasks that name this team, and those of its workflows; only its admins set it.',
    }),
    kinds: z.array(z.enum(NOTIFICATION_KINDS)),
    active: z.boolean(),
    silent: z
      .enum(CHAT_SILENCES)
      .nullable()
      .meta({
        description:
          'Why it is told nothing although it is active: its owner is disabled, or may not have such a ' +
          'chat any more. An admin can give it another owner.',
      }),
    last_error: z.string().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'NotificationChannel' });

export function channelEndpoints(deps: AppDeps): Endpoint[] {
  return [listEndpoint(), createEndpoint(deps), updateEndpoint(deps), deleteEndpoint(), testEndpoint(deps)];
}

function listEndpoint(): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/notifications/channels',
    operationId: 'listNotificationChannels',
    summary: "List the caller's chats, and those of teams that they administer; admins see all",
    description: 'Oldest first.',
    tags: TAGS,
    role: 'viewer',
    query: z.object(pageQuery),
    responses: { 200: z.array(channelRecord) },
    handler: async (c) => {
      const { items, headers } = await readPage(c, byId, (page) => listChannels(c.em, c.actor, page));
      return { status: 200, body: items.map(present), headers };
    },
  });
}

function createEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/notifications/channels',
    operationId: 'createNotificationChannel',
    summary: 'Have a chat told of human tasks',
    description:
      'By an incoming webhook of Slack or Mattermost, or a workflow of Teams that takes Adaptive Cards. ' +
      'Without `group`, `workflow_id` and `team_id`, of which it has one at most, it is told of your own ' +
      'tasks. A `group` needs the role admin, a `workflow_id` the right to change that workflow, a ' +
      '`team_id` the role admin in that team.',
    tags: TAGS,
    role: 'approver',
    inTeams: true,
    body: z
      .object({
        name,
        format: z.enum(CHAT_FORMATS),
        url,
        group: text({ min: 1, max: 100 }).nullish(),
        workflow_id: uuid.nullish(),
        team_id: uuid.nullish(),
        kinds: kinds.nullish(),
      })
      .refine(
        ({ group, workflow_id: workflow, team_id: team }) =>
          [group, workflow, team].filter((one) => one !== null && one !== undefined).length <= 1,
        'give at most one of group, workflow_id and team_id',
      ),
    record: channelRecord,
    responses: { 201: channelRecord },
    errors: [403, 404, 409],
    // The request contains a secret.
    idempotent: false,
    handler: async (c) => {
      checkUnlimited(c);
      const { group = null, workflow_id: workflow = null, team_id: team = null, ...fields } = c.body;
      if (workflow !== null) await getWorkflowForChange(c.em, c.actor, workflow);
      if (team !== null) await teamFor(c.em, c.actor, team, 'admin');
      await deps.calledAddresses.checkDelivery(fields.url);
      const channel = await createChannel(
        c.em,
        deps.encryption,
        c.actor,
        {
          ...fields,
          group_name: group,
          workflow_id: workflow,
          team_id: team,
          kinds: fields.kinds ?? [...NOTIFICATION_KINDS],
        },
        deps.env,
      );
      const headers = { Location: `/notifications/channels/${channel.id}` };
      return { status: 201, body: present(channel), headers };
    },
  });
}

function updateEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'PATCH',
    path: '/notifications/channels/{id}',
    operationId: 'updateNotificationChannel',
    summary: 'Change a chat, turn it off or on, or move it to another person',
    tags: TAGS,
    role: 'approver',
    inTeams: true,
    params: idParams,
    body: z
      .object({
        name,
        kinds,
        url,
        active: z.boolean(),
        owner_id: uuid.meta({ description: 'Moves it to another person; for admins.' }),
      })
      .partial(),
    record: channelRecord,
    responses: { 200: channelRecord },
    errors: [403, 409],
    handler: async (c) => {
      const channel = await getChannel(c.em, c.actor, c.params.id);
      checkUnlimited(c);
      const { owner_id: owner, ...changes } = c.body;
      if (changes.url !== undefined) await deps.calledAddresses.checkDelivery(changes.url);
      if (owner !== undefined) await moveChannel(c.em, c.actor, channel, owner, deps.env);
      const changed = await updateChannel(c.em, deps.encryption, c.actor, channel, changes);
      return { status: 200, body: present(changed) };
    },
  });
}

function deleteEndpoint(): Endpoint {
  return endpoint({
    method: 'DELETE',
    path: '/notifications/channels/{id}',
    operationId: 'deleteNotificationChannel',
    summary: 'Remove a chat; nothing is sent to it any more',
    tags: TAGS,
    role: 'approver',
    inTeams: true,
    params: idParams,
    responses: { 204: null },
    handler: async (c) => {
      const channel = await getChannel(c.em, c.actor, c.params.id);
      c.audit.note(heldBy(channel.team_id));
      await deleteChannel(c.em, channel);
      return { status: 204 };
    },
  });
}

function testEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/notifications/channels/{id}/test',
    operationId: 'testNotificationChannel',
    summary: 'Send a test message to a chat now',
    tags: TAGS,
    role: 'approver',
    inTeams: true,
    params: idParams,
    body: emptyBody,
    responses: {
      200: z.object({ sent: z.boolean(), error: z.string().nullable() }).meta({ id: 'TestMessage' }),
    },
    errors: [409],
    idempotent: false,
    transaction: false,
    handler: async (c) => {
      const { id } = await c.em.transactional((em) => getChannel(em, c.actor, c.params.id));
      c.checkSyntax();
      const open = await openChannelUrl(c.em, deps.encryption, id);
      if (open === null) throw conflict('channel_off', 'The chat is turned off.');
      const item = { heading: 'Test message of Cadenza', facts: [], link: `${c.baseUrl}/console/` };
      const signal = AbortSignal.timeout(STANDARD_RETRY.timeoutMs);
      const outcome = await postChat(
        { sender: deps.sender, retry: STANDARD_RETRY },
        open.url,
        chatMessage(open.format, [item]),
        signal,
      );
      return { status: 200, body: { sent: outcome.sent, error: outcome.sent ? null : outcome.error } };
    },
  });
}

/** A chat is told of all tasks of its owner. @throws 403 for a client or token that may see less */
function checkUnlimited({ actor }: Pick<EndpointContext, 'actor'>): void {
  if (actor.client?.limited !== true && hasScope(actor, 'hitl:read')) return;
  throw forbidden(
    'A chat is told of all tasks that you may see, which is more than this client may.',
    'client_limited',
  );
}

function present({ group_name: group, ...row }: Channel): z.input<typeof channelRecord> {
  const time = (at: Date): string => new Date(at).toISOString();
  return { ...row, group, created_at: time(row.created_at), updated_at: time(row.updated_at) };
}
