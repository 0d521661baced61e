import { Migration0001Auth } from './0001-auth.ts';
import { Migration0002Agents } from './0002-agents.ts';
import { Migration0003Workflows } from './0003-workflows.ts';
import { Migration0004Runs } from './0004-runs.ts';
import { Migration0005Hitl } from './0005-hitl.ts';
import { Migration0006Marketplace } from './0006-marketplace.ts';
import { Migration0007RateLimit } from './0007-rate-limit.ts';
import { Migration0007Files } from './0007-files.ts';
import { Migration0007Webhooks } from './0007-webhooks.ts';
import { Migration0008A2A } from './0008-a2a.ts';
import { Migration0009AppendFunctions } from './0009-append-functions.ts';
import { Migration0010Retention } from './0010-retention.ts';
import { Migration0010A2ADialect } from './0010-a2a-dialect.ts';
import { Migration0011UnappliedSignals } from './0011-unapplied-signals.ts';
import { Migration0012InvocationProgress } from './0012-invocation-progress.ts';
import { Migration0013InvisibleAgents } from './0013-invisible-agents.ts';
import { Migration0014RunFiles } from './0014-run-files.ts';
import { Migration0015PayloadFiles } from './0015-payload-files.ts';
import { Migration0017EndRun } from './0017-end-run.ts';
import { Migration0018Decide } from './0018-decide.ts';
import { Migration0019A2AAuthRequired } from './0019-a2a-auth-required.ts';
import { Migration0020FunctionPlans } from './0020-function-plans.ts';

/** Append-only, in the order in which they run. The name is what the database remembers: never rename one that has landed. */
export const migrations = [
  { name: '0001-auth', class: Migration0001Auth },
  { name: '0002-agents', class: Migration0002Agents },
  { name: '0003-workflows', class: Migration0003Workflows },
  { name: '0004-runs', class: Migration0004Runs },
  { name: '0005-hitl', class: Migration0005Hitl },
  { name: '0006-marketplace', class: Migration0006Marketplace },
  { name: '0007-rate-limit', class: Migration0007RateLimit },
  { name: '0007-files', class: Migration0007Files },
  { name: '0007-webhooks', class: Migration0007Webhooks },
  { name: '0008-a2a', class: Migration0008A2A },
  { name: '0009-append-functions', class: Migration0009AppendFunctions },
  { name: '0010-retention', class: Migration0010Retention },
  { name: '0010-a2a-dialect', class: Migration0010A2ADialect },
  { name: '0011-unapplied-signals', class: Migration0011UnappliedSignals },
  { name: '0012-invocation-progress', class: Migration0012InvocationProgress },
  { name: '0013-invisible-agents', class: Migration0013InvisibleAgents },
  { name: '0014-run-files', class: Migration0014RunFiles },
  { name: '0017-end-run', class: Migration0017EndRun },
  { name: '0015-payload-files', class: Migration0015PayloadFiles },
  { name: '0018-decide', class: Migration0018Decide },
  { name: '0019-a2a-auth-required', class: Migration0019A2AAuthRequired },
  { name: '0020-function-plans', class: Migration0020FunctionPlans },
];

export const migrationNames: readonly string[] = migrations.map((migration) => migration.name);
