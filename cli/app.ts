/** The tree of commands. A command loads only its own file, and a list of all loads none of them. */
import {
  buildApplication,
  buildCommand,
  buildRouteMap,
  type Application,
  type Command,
  type RouteMap,
} from '@stricli/core';

import type { Context } from './core/command.ts';
import { parserText } from './core/parser-text.ts';
import { LISTED } from './listed.ts';

type Route = Command<Context> | RouteMap<Context>;

const login = () => import('./commands/login.ts');
const status = () => import('./commands/status.ts');
const apply = () => import('./commands/apply.ts');
const user = () => import('./commands/user.ts');

const ROUTES = {
  login: async () => (await login()).loginCommand,
  logout: async () => (await login()).logoutCommand,
  whoami: async () => (await status()).whoamiCommand,
  status: async () => (await status()).statusCommand,
  inbox: async () => (await import('./commands/inbox.ts')).inboxCommand,
  task: async () => (await import('./commands/task.ts')).taskCommands,
  absence: async () => (await import('./commands/absence.ts')).absenceCommands,
  notification: async () => (await import('./commands/notification.ts')).notificationCommands,
  run: async () => (await import('./commands/run.ts')).runCommands,
  schedule: async () => (await import('./commands/schedule.ts')).scheduleCommands,
  workflow: async () => (await import('./commands/workflow.ts')).workflowCommands,
  agent: async () => (await import('./commands/agent.ts')).agentCommands,
  worker: async () => (await import('./commands/worker.ts')).workerCommands,
  market: async () => (await import('./commands/market.ts')).marketCommands,
  secret: async () => (await import('./commands/secret.ts')).secretCommands,
  file: async () => (await import('./commands/file.ts')).fileCommands,
  budget: async () => (await import('./commands/budget.ts')).budgetCommands,
  issuer: async () => (await import('./commands/issuer.ts')).issuerCommands,
  price: async () => (await import('./commands/price.ts')).priceCommands,
  usage: async () => (await import('./commands/usage.ts')).usageCommand,
  quota: async () => (await import('./commands/quota.ts')).quotaCommands,
  webhook: async () => (await import('./commands/webhook.ts')).webhookCommands,
  hook: async () => (await import('./commands/hook.ts')).hookCommands,
  event: async () => (await import('./commands/event.ts')).eventCommands,
  user: async () => (await user()).userCommands,
  team: async () => (await import('./commands/team.ts')).teamCommands,
  client: async () => (await user()).clientCommands,
  token: async () => (await import('./commands/token.ts')).tokenCommands,
  audit: async () => (await import('./commands/audit.ts')).auditCommands,
  session: async () => (await import('./commands/session.ts')).sessionCommands,
  events: async () => (await import('./commands/events.ts')).eventsCommand,
  apply: async () => (await apply()).applyCommand,
  diff: async () => (await apply()).diffCommand,
  export: async () => (await import('./commands/export.ts')).exportCommand,
  dev: async () => (await import('./commands/dev.ts')).devCommand,
  server: async () => (await import('./commands/server.ts')).serverCommands,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  open: async () => (await status()).openCommand,
  api: async () => (await import('./commands/api.ts')).apiCommand,
  expr: async () => (await import('./commands/expr.ts')).exprCommand,
  config: async () => (await import('./commands/config.ts')).configCommands,
  completion: async () => (await import('./commands/completion.ts')).completionCommand,
  version: async () => (await status()).versionCommand,
} satisfies Record<string, () => Promise<Route>>;

type Name = keyof typeof ROUTES;
// The keys of the object above.
export const COMMAND_NAMES = Object.keys(ROUTES) as readonly Name[];
const isName = (word: string): word is Name => Object.hasOwn(ROUTES, word);

/** Stands for a command, or commands, where all are only listed. */
const listed = ({ usage, brief }: (typeof LISTED)[number]): Command<Context> => ({
  ...buildCommand<Record<never, never>, [], Context>({
    docs: { brief },
    parameters: {},
    func: () => undefined,
  }),
  formatUsageLine: () => usage.join('|'),
});

/**
 * @param first the first word of the command line: if it is a command, the application has only this one,
 *   else a list of all, of which none can be run
 */
export async function createApp(first = ''): Promise<Application<Context>> {
  const routes: Record<string, Route> = isName(first)
    ? { [first]: await ROUTES[first]() }
    : Object.fromEntries(LISTED.map((one) => [one.name, listed(one)]));
  const root = buildRouteMap<string, Context>({
    routes,
    docs: { brief: 'Run agents together with people, from the command line' },
  });
  return buildApplication(root, {
    name: 'cadenza',
    scanner: { caseStyle: 'allow-kebab-for-camel', allowArgumentEscapeSequence: true },
    documentation: { disableAnsiColor: true, useAliasInUsageLine: true, onlyRequiredInUsageLine: true },
    completion: { includeAliases: false, includeHiddenRoutes: false },
    localization: { text: parserText },
  });
}
