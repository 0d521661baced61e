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
