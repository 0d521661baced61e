import type { MikroORM } from '@mikro-orm/postgresql';
import type { Logger } from '../config/logger.ts';
import type { DeliveryKinds } from '../domain/delivery/kind.ts';
import type { RetryPolicy } from '../domain/delivery/retry.ts';
import type { FileStore } from '../domain/files/ports.ts';
import type { Adapters, DeliverySender, TemporalGateway } from '../domain/ports.ts';

/** Everything that activities reach the world by; made by the composition root. */
export interface ActivityDeps {
  orm: MikroORM;
  adapters: Adapters;
  temporal: TemporalGateway;
  logger: Logger;
  files: FileStore;
  /** An address that gives a file without a log-in, for at most so many seconds. */
  fileLink(fileId: string, seconds: number): Promise<string>;
  /** How many days runs are kept after their end. */
  retentionDays: number;
  deliveries: {
    kinds: DeliveryKinds;
    sender: DeliverySender;
    /** Default: `standardRetry`. */
    retry?: RetryPolicy;
  };
  /** Secrets of a user, decrypted; null if there is none of that name. */
  secret(ownerId: string, name: string): Promise<string | null>;
}
