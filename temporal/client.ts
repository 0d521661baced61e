import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import {
  readTemporalCredentials,
  type TemporalConnectionEnv,
  type WatchedCertificate,
} from '../config/temporal-connection.ts';
import { CONNECTION_INTERCEPTORS } from './closed-connection.ts';

export interface TemporalSettings {
  /** host:port */
  address: string;
  namespace: string;
  /** A function is asked before each call. */
  apiKey?: string | (() => string) | undefined;
  tls?: ConnectionOptions['tls'] | undefined;
  /** What was loaded for `tls`. */
  certificates?: readonly WatchedCertificate[];
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

/**
 * Connection settings from the environment. Certificates and API key are read from their files.
 * @throws an Error that names the setting
 */
export function temporalSettings(
  env: TemporalConnectionEnv & { TEMPORAL_NAMESPACE: string },
): TemporalSettings {
  const credentials = readTemporalCredentials(env);
  return { address: env.TEMPORAL_ADDRESS, namespace: env.TEMPORAL_NAMESPACE, ...credentials };
}
