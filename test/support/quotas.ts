/** What adds one to a quota, through the API, for tests of all quotas. */
import { randomUUID } from 'node:crypto';

import type { QuotaName } from '../../contracts/quotas.ts';
import { registeredAgent } from './agent-body.ts';
import type { Client, Reply } from './app.ts';

/** Of whom it is added: of the client's user, or of a team. */
export interface Place {
  team_id?: string;
}

interface Addition {
  /** Makes what is needed before. @returns its id */
  prepare?(client: Client, place: Place): Promise<string>;
  add(client: Client, prepared: string, place: Place): Promise<Reply>;
  /** What `prepare` itself adds. */
  prepared?: number;
  /** Teams have none. */
  ofUsersOnly?: true;
}

const HOUR_MS = 3_600_000;
const SECRET = 'HOOK';

const query = ({ team_id: team }: Place): string => (team === undefined ? '' : `?team_id=${team}`);

function definition(value: string, more: object = {}): object {
  return {
    document: { dsl: '1.0.3', namespace: 'test', name: 'quota', version: '1.0.0' },
    do: [{ done: { set: { value } } }],
    ...more,
  };
}

const newWorkflow = (client: Client, place: Place, more: object = {}): Promise<Reply> =>
  client.post('/workflows', { name: 'quota', definition: definition('first', more), ...place });

async function preparedWorkflow(client: Client, place: Place): Promise<string> {
  const { status, body } = await newWorkflow(client, place);
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body.id;
}

const upload = (client: Client, _prepared: string, place: Place): Promise<Reply> =>
  client.post(`/files${query(place)}`, 'a', { headers: { 'content-type': 'text/plain' } });

/** Runs that have not ended wait, because there is no Temporal. */
const start: Addition = {
  prepare: preparedWorkflow,
  add: (client, workflow) => client.post(`/workflows/${workflow}/run`, {}),
};

export const ADDITIONS: Partial<Record<QuotaName, Addition>> = {
  live_runs: start,
  runs_per_minute: start,
  stored_bytes: { add: upload },
  files: { add: upload },
  secrets: {
    add: (client, _prepared, place) =>
      client.put(`/secrets/S${randomUUID().replaceAll('-', '')}${query(place)}`, { value: 'x' }),
  },
  schedules: {
    add: (client, _prepared, place) => newWorkflow(client, place, { schedule: { every: { hours: 1 } } }),
  },
  webhooks: {
    add: (client, _prepared, place) => client.post('/webhooks', { url: 'http://localhost:1/hook', ...place }),
  },
  inbound_webhooks: {
    prepare: async (client, place) => {
      await client.put(`/secrets/${SECRET}${query(place)}`, { value: 'a secret of the hook' });
      return SECRET;
    },
    add: (client, secret, place) => client.post('/hooks', { name: 'h', scheme: 'github', secret, ...place }),
  },
  event_sources: {
    add: (client, _prepared, place) =>
      client.post('/event-sources', { source: `urn:uuid:${randomUUID()}`, ...place }),
  },
  agent_versions: {
    prepare: async (client, place) => (await registeredAgent(client, { ...place })).id,
    add: (client, agent) =>
      client.post(`/agents/${agent}/versions`, { version: `1.0.0-${randomUUID().replaceAll('-', '')}` }),
    prepared: 1,
  },
  workflow_revisions: {
    prepare: preparedWorkflow,
    add: (client, workflow) =>
      client.patch(`/workflows/${workflow}`, { definition: definition(randomUUID()) }),
    prepared: 1,
  },
  chats: {
    add: (client) =>
      client.post('/notifications/channels', {
        name: randomUUID(),
        format: 'slack',
        url: 'https://hooks.example/secret',
      }),
    ofUsersOnly: true,
  },
  tokens: {
    add: (client) => {
      const expires_at = new Date(Date.now() + HOUR_MS).toISOString();
      return client.post('/users/me/tokens', { name: 't', scopes: ['files:read'], expires_at });
    },
    ofUsersOnly: true,
  },
  clients: { add: (client) => client.post('/users/me/clients', { name: 'c' }), ofUsersOnly: true },
};

/** The quotas that a user, or a team, can have. */
export const addable = (scope: 'user' | 'team'): [QuotaName, Addition][] =>
  // Safe: they are the table's own names.
  (Object.entries(ADDITIONS) as [QuotaName, Addition][]).filter(
    ([, { ofUsersOnly }]) => scope === 'user' || ofUsersOnly !== true,
  );
