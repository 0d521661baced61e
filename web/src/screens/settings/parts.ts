import type { OperationId } from '../../../../client/index.ts';
import type { SettingsPart } from '../../app/routes.ts';

/** Each part with the operation that it cannot do without. */
export const NEEDS: Readonly<Record<SettingsPart, OperationId>> = {
  profile: 'getMe',
  notifications: 'listNotifications',
  sessions: 'listMySessions',
  security: 'getMySecondFactors',
  tokens: 'listMyTokens',
  clients: 'listMyClients',
  secrets: 'listSecrets',
  webhooks: 'listWebhooks',
  events: 'listReceivedEvents',
  files: 'listFiles',
  conversations: 'listConversations',
  usage: 'listUsage',
  limits: 'getUsageLimits',
  budgets: 'listBudgets',
  prices: 'listPrices',
  users: 'listUsers',
  audit: 'listAudit',
  issuers: 'listIssuers',
  teams: 'listTeams',
  health: 'getReadiness',
};
// Safe: they are the table's own names.
export const PARTS = Object.keys(NEEDS) as SettingsPart[];
