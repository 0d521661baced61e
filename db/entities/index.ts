import type { EntitySchema } from '@mikro-orm/postgresql';

import { AuthClient } from './auth-client.ts';
import { UserAccount } from './user-account.ts';
import { WorkflowRevision } from './workflow-revision.ts';
import { Workflow } from './workflow.ts';

/** Every entity that the ORM knows. */
export const entities: EntitySchema[] = [AuthClient, UserAccount, Workflow, WorkflowRevision];
