import type { EntitySchema } from '@mikro-orm/postgresql';

import { AuthClient } from './auth-client.ts';
import { UserAccount } from './user-account.ts';

/** Every entity that the ORM knows. */
export const entities: EntitySchema[] = [AuthClient, UserAccount];
