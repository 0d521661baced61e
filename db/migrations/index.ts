import { Migration202611220850InitialSchema } from './202611220850-initial-schema.ts';
import { Migration202611231302IdentityIssuers } from './202611231302-identity-issuers.ts';
import { Migration202611221125BrowserSessions } from './202611221125-browser-sessions.ts';
import { Migration202611221145DeviceLogIn } from './202611221145-device-log-in.ts';
import { Migration202611221159ColumnsFromTypescript } from './202611221159-columns-from-typescript.ts';
import { Migration202611221200OauthClients } from './202611221200-oauth-clients.ts';
import { Migration202611221515DeviceApprover } from './202611221515-device-approver.ts';
import { Migration202611221520AppliedResources } from './202611221520-applied-resources.ts';
import { Migration202611221600ShortCalls } from './202611221600-short-calls.ts';
import { Migration202611222236TaskOrders } from './202611222236-task-orders.ts';
import { Migration202611222240HumanTaskContext } from './202611222240-human-task-context.ts';
import { Migration202611222241UserPreferences } from './202611222241-user-preferences.ts';
import { Migration202611222250RunHours } from './202611222250-run-hours.ts';
import { Migration202611222300Schedules } from './202611222300-schedules.ts';
import { Migration202611222342MarketplaceWaiting } from './202611222342-marketplace-waiting.ts';
import { Migration202611230200EventsIn } from './202611230200-events-in.ts';
import { Migration202611230150MapItems } from './202611230150-map-items.ts';
import { Migration202611230229ProcessPolicy } from './202611230229-process-policy.ts';
import { Migration202611230236WorkflowSource } from './202611230236-workflow-source.ts';
import { Migration202611230254Listeners } from './202611230254-listeners.ts';
import { Migration202611230245RunSteering } from './202611230245-run-steering.ts';
import { Migration202611230555HookRefusals } from './202611230555-hook-refusals.ts';
import { Migration202611230545AppliedHooks } from './202611230545-applied-hooks.ts';
import { Migration202611230547RunFollowers } from './202611230547-run-followers.ts';

/**
 * Append-only, in the order in which they run. The name is what the database remembers: never rename one that
 * has landed.
 */ import { Migration202611230240ExternalResources } from './202611230240-external-resources.ts';
import { Migration202611231010Spending } from './202611231010-spending.ts';
import { Migration202611231011AgentLimits } from './202611231011-agent-limits.ts';
import { Migration202611230632AccountChanges } from './202611230632-account-changes.ts';
import { Migration202611230940Conversations } from './202611230940-conversations.ts';
import { Migration202611230931Jobs } from './202611230931-jobs.ts';
import { Migration202611230929Doors } from './202611230929-doors.ts';
import { Migration202611231050Evaluations } from './202611231050-evaluations.ts';
import { Migration202611231105Canaries } from './202611231105-canaries.ts';
import { Migration202611231310HeldTurns } from './202611231310-held-turns.ts';
import { Migration202611231331Absences } from './202611231331-absences.ts';
import { Migration202611231259Notifications } from './202611231259-notifications.ts';
import { Migration202611231100SpendingSizes } from './202611231100-spending-sizes.ts';
import { Migration202611231341ProtocolCalls } from './202611231341-protocol-calls.ts';
import { Migration202611231342ConversationHolders } from './202611231342-conversation-holders.ts';
import { Migration202611231300Audit } from './202611231300-audit.ts';
import { Migration202611231301AccessTokens } from './202611231301-access-tokens.ts';
import { Migration202611231303SecondFactors } from './202611231303-second-factors.ts';
import { Migration202611231355DecisionTimes } from './202611231355-decision-times.ts';
import { Migration202611231256Teams } from './202611231256-teams.ts';
import { Migration202611231400Scim } from './202611231400-scim.ts';
import { Migration202611231713Traces } from './202611231713-traces.ts';
import { Migration202611231751RetriedCases } from './202611231751-retried-cases.ts';
import { Migration202611231754WritePause } from './202611231754-write-pause.ts';
import { Migration202611231755SearchedLists } from './202611231755-searched-lists.ts';

export const migrations = [
  { name: '202611220850-initial-schema', class: Migration202611220850InitialSchema },
  { name: '202611221125-browser-sessions', class: Migration202611221125BrowserSessions },
  { name: '202611221145-device-log-in', class: Migration202611221145DeviceLogIn },
  { name: '202611221159-columns-from-typescript', class: Migration202611221159ColumnsFromTypescript },
  { name: '202611221200-oauth-clients', class: Migration202611221200OauthClients },
  { name: '202611221515-device-approver', class: Migration202611221515DeviceApprover },
  { name: '202611221520-applied-resources', class: Migration202611221520AppliedResources },
  { name: '202611221600-short-calls', class: Migration202611221600ShortCalls },
  { name: '202611222236-task-orders', class: Migration202611222236TaskOrders },
  { name: '202611222240-human-task-context', class: Migration202611222240HumanTaskContext },
  { name: '202611222241-user-preferences', class: Migration202611222241UserPreferences },
  { name: '202611222250-run-hours', class: Migration202611222250RunHours },
  { name: '202611222300-schedules', class: Migration202611222300Schedules },
  { name: '202611222342-marketplace-waiting', class: Migration202611222342MarketplaceWaiting },
  { name: '202611230200-events-in', class: Migration202611230200EventsIn },
  { name: '202611230150-map-items', class: Migration202611230150MapItems },
  { name: '202611230229-process-policy', class: Migration202611230229ProcessPolicy },
  { name: '202611230240-external-resources', class: Migration202611230240ExternalResources },
  { name: '202611230236-workflow-source', class: Migration202611230236WorkflowSource },
  { name: '202611230254-listeners', class: Migration202611230254Listeners },
  { name: '202611230245-run-steering', class: Migration202611230245RunSteering },
  { name: '202611230555-hook-refusals', class: Migration202611230555HookRefusals },
  { name: '202611230545-applied-hooks', class: Migration202611230545AppliedHooks },
  { name: '202611230547-run-followers', class: Migration202611230547RunFollowers },
  { name: '202611230632-account-changes', class: Migration202611230632AccountChanges },
  { name: '202611230940-conversations', class: Migration202611230940Conversations },
  { name: '202611230931-jobs', class: Migration202611230931Jobs },
  { name: '202611231010-spending', class: Migration202611231010Spending },
  { name: '202611231011-agent-limits', class: Migration202611231011AgentLimits },
  { name: '202611230929-doors', class: Migration202611230929Doors },
  { name: '202611231050-evaluations', class: Migration202611231050Evaluations },
  { name: '202611231105-canaries', class: Migration202611231105Canaries },
  { name: '202611231100-spending-sizes', class: Migration202611231100SpendingSizes },
  { name: '202611231341-protocol-calls', class: Migration202611231341ProtocolCalls },
  { name: '202611231342-conversation-holders', class: Migration202611231342ConversationHolders },
  { name: '202611231300-audit', class: Migration202611231300Audit },
  { name: '202611231301-access-tokens', class: Migration202611231301AccessTokens },
  { name: '202611231310-held-turns', class: Migration202611231310HeldTurns },
  { name: '202611231259-notifications', class: Migration202611231259Notifications },
  { name: '202611231331-absences', class: Migration202611231331Absences },
  { name: '202611231302-identity-issuers', class: Migration202611231302IdentityIssuers },
  { name: '202611231303-second-factors', class: Migration202611231303SecondFactors },
  { name: '202611231355-decision-times', class: Migration202611231355DecisionTimes },
  { name: '202611231256-teams', class: Migration202611231256Teams },
  { name: '202611231400-scim', class: Migration202611231400Scim },
  { name: '202611231713-traces', class: Migration202611231713Traces },
  { name: '202611231751-retried-cases', class: Migration202611231751RetriedCases },
  { name: '202611231754-write-pause', class: Migration202611231754WritePause },
  { name: '202611231755-searched-lists', class: Migration202611231755SearchedLists },
];

export const migrationNames: readonly string[] = migrations.map((migration) => migration.name);
