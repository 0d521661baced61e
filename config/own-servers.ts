/** The installation's own servers, derived from its settings. Agents and workflows must never reach them. */
import type { DeniedServer, OwnServers } from '../contracts/egress-denied.ts';
import { splitPort } from './env-types.ts';
import type { Env } from './env.ts';

type Settings = Pick<
  Env,
  | 'DATABASE_URL'
  | 'TEMPORAL_ADDRESS'
  | 'TEMPORAL_UI_URL'
  | 'TEMPORAL_DATABASE_URLS'
  | 'WORKER_METRICS_ADDRESS'
  | 'OTEL_EXPORTER_OTLP_ENDPOINT'
  | 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  | 'FILES_S3_ENDPOINT'
  | 'FILES_S3_BUCKET'
  | 'SMTP_HOST'
  | 'SMTP_PORT'
  | 'BASE_URL'
  | 'OPENID_BACKCHANNEL_URL'
  | 'SANDBOX_ENGINE'
  | 'HOST'
  | 'PORT'
  | 'EGRESS_DENY'
>;

export function ownServers(env: Settings): OwnServers {
  const servers: DeniedServer[] = env.EGRESS_DENY.map(splitPort);
  if (env.DATABASE_URL !== undefined) servers.push(databaseOf(env.DATABASE_URL));
  servers.push(...env.TEMPORAL_DATABASE_URLS.map(databaseOf));
  if (env.TEMPORAL_ADDRESS !== undefined) servers.push(splitPort(env.TEMPORAL_ADDRESS));
  if (env.TEMPORAL_UI_URL !== undefined) servers.push(serverOf(env.TEMPORAL_UI_URL));
  if (env.WORKER_METRICS_ADDRESS !== undefined) servers.push(splitPort(env.WORKER_METRICS_ADDRESS));
  for (const url of [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT])
    if (url !== undefined) servers.push(serverOf(url));
  // Whoever can call it is root on its host.
  if (env.SANDBOX_ENGINE?.startsWith('http')) servers.push(serverOf(env.SANDBOX_ENGINE));
  if (env.FILES_S3_ENDPOINT !== undefined) {
    const store = serverOf(env.FILES_S3_ENDPOINT);
    servers.push(store, { ...store, host: `${env.FILES_S3_BUCKET ?? ''}.${store.host}` });
  }
  // A mail server may take mails from this machine without a password.
  if (env.SMTP_HOST !== undefined) servers.push({ host: env.SMTP_HOST, port: env.SMTP_PORT });
  const api = [serverOf(env.BASE_URL), { host: env.HOST, port: env.PORT }];
  if (env.OPENID_BACKCHANNEL_URL !== undefined) api.push(serverOf(env.OPENID_BACKCHANNEL_URL));
  return { servers, api };
}

function serverOf(url: string): DeniedServer {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
}

/**
 * Host and port of a database URL; query parameters override its authority. A socket folder means this
 * machine, where PostgreSQL usually listens on TCP too.
 */
function databaseOf(url: string): DeniedServer {
  const { hostname, port, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return {
    host: host === '' || host.startsWith('/') ? '127.0.0.1' : host,
    port: Number(searchParams.get('port') ?? (port || 5432)),
  };
}
