import type { MikroORM } from '@mikro-orm/postgresql';
import type { Logger } from '../config/logger.ts';
import type { Adapters, TemporalGateway } from '../domain/ports.ts';

/** Everything that activities reach the world by; made by the composition root. */
export interface ActivityDeps {
  orm: MikroORM;
  adapters: Adapters;
  temporal: TemporalGateway;
  logger: Logger;
  /** Secrets of a user, decrypted; null if there is none of that name. */
  secret(ownerId: string, name: string): Promise<string | null>;
}
