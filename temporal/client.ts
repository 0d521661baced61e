import { readFileSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { ConnectionOptions } from '@temporalio/client';

export interface TemporalSettings {
  /** host:port */
  address: string;
  namespace: string;
  apiKey?: string | undefined;
  tls?: ConnectionOptions['tls'] | undefined;
}

/** A client that connects at its first call, so that a process starts while Temporal is away. */
export function createTemporalClient(settings: TemporalSettings, dataConverter?: DataConverter): Client {
  const connection = Connection.lazy({
    address: settings.address,
    ...(settings.apiKey === undefined ? {} : { apiKey: settings.apiKey }),
    ...(settings.tls === undefined ? {} : { tls: settings.tls }),
  });
  return new Client({ connection, namespace: settings.namespace, ...(dataConverter ? { dataConverter } : {}) });
}

/** Settings as the environment names them; a certificate is read from its file. */
export function temporalSettings(env: {
  TEMPORAL_ADDRESS: string;
  TEMPORAL_NAMESPACE: string;
  TEMPORAL_API_KEY?: string | undefined;
  TEMPORAL_TLS?: boolean | undefined;
  TEMPORAL_TLS_CA?: string | undefined;
  TEMPORAL_TLS_CERT?: string | undefined;
  TEMPORAL_TLS_KEY?: string | undefined;
  TEMPORAL_TLS_SERVER_NAME?: string | undefined;
}): TemporalSettings {
  const { TEMPORAL_TLS_CA: ca, TEMPORAL_TLS_CERT: cert, TEMPORAL_TLS_KEY: key, TEMPORAL_TLS_SERVER_NAME: name } = env;
  const tls =
    ca || cert || name
      ? {
          ...(name ? { serverNameOverride: name } : {}),
          ...(ca ? { serverRootCACertificate: readFileSync(ca) } : {}),
          ...(cert && key ? { clientCertPair: { crt: readFileSync(cert), key: readFileSync(key) } } : {}),
        }
      : env.TEMPORAL_TLS;
  return { address: env.TEMPORAL_ADDRESS, namespace: env.TEMPORAL_NAMESPACE, apiKey: env.TEMPORAL_API_KEY, tls };
}
