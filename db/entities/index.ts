import type { EntitySchema } from '@mikro-orm/postgresql';

import { AgentSkill } from './agent-skill.ts';
import { AgentVersion } from './agent-version.ts';
import { Agent } from './agent.ts';
import { AuthClient } from './auth-client.ts';
import { Secret } from './secret.ts';
import { MarketplaceInstall } from './marketplace-install.ts';
import { MarketplaceItem } from './marketplace-item.ts';
import { MarketplaceReview } from './marketplace-review.ts';
import { MarketplaceVersion } from './marketplace-version.ts';
import { StoredFile } from './stored-file.ts';
import { UserAccount } from './user-account.ts';
import { WorkflowRevision } from './workflow-revision.ts';
import { Workflow } from './workflow.ts';

/** All entities of the ORM. */
export const entities: EntitySchema[] = [
  Agent,
  AgentSkill,
  AgentVersion,
  AuthClient,
  MarketplaceInstall,
  MarketplaceItem,
  MarketplaceReview,
  MarketplaceVersion,
  Secret,
  StoredFile,
  UserAccount,
  Workflow,
  WorkflowRevision,
];
