/** The API as documented: all endpoints, at the address of a fresh installation. */
import { pino } from 'pino';

import { createApp } from '../api/app.ts';
import type { Endpoint } from '../api/endpoint.ts';
import { createOpenApi, type OpenApiDocument } from '../api/openapi.ts';
import { parseEnv } from '../config/env.ts';
import { createOrm } from '../db/orm.ts';
import { createRunEventWatcher } from '../db/run-event-watcher.ts';
import type { FileStore } from '../domain/files/ports.ts';
import { defaultTemplates } from '../domain/notifications/templates.ts';
import type {
  AgentSources,
  DeliverySender,
  IdentityProviders,
  ResourceFetcher,
  TemporalGateway,
} from '../domain/ports.ts';

/** Only declarations are read. No handler is called, so nothing connects. */
export function declaredEndpoints(): Endpoint[] {
  const parsed = parseEnv({
    BASE_URL: 'http://localhost:3000',
    ENCRYPTION_KEYS: `none:${Buffer.alloc(32).toString('base64')}`,
  });
  if ('problems' in parsed) {
    throw new Error(JSON.stringify(parsed.problems));
  }
  const orm = createOrm({ url: 'postgres://nobody@localhost/nowhere' });
  const logger = pino({ level: 'silent' });
  const runEvents = createRunEventWatcher('postgres://nobody@localhost/nowhere', logger);
  return createApp({
    orm,
    env: parsed.env,
    logger,
    runEvents,
    temporal: {} as TemporalGateway,
    files: {} as FileStore,
    resources: {} as ResourceFetcher,
    sources: {} as AgentSources,
    mailer: { mailer: null, templates: defaultTemplates() },
    sender: {} as DeliverySender,
    identities: {} as IdentityProviders,
    guardSecrets: () => Promise.reject(new Error('no secrets here')),
  }).endpoints;
}

export function documentedApi(): OpenApiDocument {
  return createOpenApi(declaredEndpoints(), 'http://localhost:3000');
}
