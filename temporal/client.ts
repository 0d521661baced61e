import { readFileSync } from 'node:fs';
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { CONNECTION_INTERCEPTORS } from './closed-connection.ts';

export interface TemporalSettings {
  /** host:port */
  address: string;
  namespace: string;
  apiKey?: string | undefined;
  tls?: ConnectionOptions['tls'] | undefined;
}

/**
 * Creates a client that connects at its first call, so that processes start even if Temporal is unavailable.
 */
export function createTemporalClient(settings: TemporalSettings, dataConverter?: DataConverter): Client {
  const connection = Connection.lazy({
    address: settings.address,
    interceptors: CONNECTION_INTERCEPTORS,
    ...(settings.apiKey === undefined ? {} : { apiKey: settings.apiKey }),
    ...(settings.tls === undefined ? {} : { tls: settings.tls }),
  });
  return new Client({
    connection,
    namespace: settings.namespace,
    ...(dataConverter ? { dataConverter } : {}),
  });
}

/** Connection settings from the environment. Certificates are read from their files. */
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
  const {
    TEMPORAL_TLS_CA: ca,
    TEMPORAL_TLS_CERT: cert,
    TEMPORAL_TLS_KEY: key,
    TEMPORAL_TLS_SERVER_NAME: name,
  } = env;
  const tls =
    ca || cert || name
      ? {
          ...(name ? { serverNameOverride: name } : {}),
          ...(ca ? { serverRootCACertificate: readFileSync(ca) } : {}),
          ...(cert && key ? { clientCertPair: { crt: readFileSync(cert), key: readFileSync(key) } } : {}),
        }
      : env.TEMPORAL_TLS;
  return {
    address: env.TEMPORAL_ADDRESS,
    namespace: env.TEMPORAL_NAMESPACE,
    apiKey: env.TEMPORAL_API_KEY,
    tls,
  };
}
