/** The tree of commands. */
import { buildApplication, buildRouteMap, type Application } from '@stricli/core';

import { apiCommand } from './commands/api.ts';
import { completionCommand } from './commands/completion.ts';
import { applyCommand, diffCommand, exportCommand } from './commands/apply.ts';
import { configCommands } from './commands/config.ts';
import { devCommand } from './commands/dev.ts';
import { doctorCommand } from './commands/doctor.ts';
import { exprCommand } from './commands/expr.ts';
import { inboxCommand } from './commands/inbox.ts';
import { loginCommand, logoutCommand } from './commands/login.ts';
import { runCommands } from './commands/run.ts';
import { openCommand, statusCommand, versionCommand, whoamiCommand } from './commands/status.ts';
import { taskCommands } from './commands/task.ts';
import { agentCommands } from './commands/agent.ts';
import { eventsCommand } from './commands/events.ts';
import { fileCommands } from './commands/file.ts';
import { marketCommands } from './commands/market.ts';
import { secretCommands } from './commands/secret.ts';
import { clientCommands, userCommands } from './commands/user.ts';
import { webhookCommands } from './commands/webhook.ts';
import { scheduleCommands } from './commands/schedule.ts';
import { workflowCommands } from './commands/workflow.ts';
import type { Context } from './core/command.ts';

const routes = {
  login: loginCommand,
  logout: logoutCommand,
  whoami: whoamiCommand,
  status: statusCommand,
  inbox: inboxCommand,
  task: taskCommands,
  run: runCommands,
  schedule: scheduleCommands,
  workflow: workflowCommands,
  agent: agentCommands,
  market: marketCommands,
  secret: secretCommands,
  file: fileCommands,
  webhook: webhookCommands,
  user: userCommands,
  client: clientCommands,
  events: eventsCommand,
  apply: applyCommand,
  diff: diffCommand,
  export: exportCommand,
  dev: devCommand,
  doctor: doctorCommand,
  open: openCommand,
  api: apiCommand,
  expr: exprCommand,
  config: configCommands,
  completion: completionCommand,
  version: versionCommand,
};

export function createApp(): Application<Context> {
  const root = buildRouteMap<keyof typeof routes, Context>({
    routes,
    docs: { brief: 'Run agents together with people, from the command line' },
  });
  return buildApplication(root, {
    name: 'cadenza',
    scanner: { caseStyle: 'allow-kebab-for-camel', allowArgumentEscapeSequence: true },
    documentation: { disableAnsiColor: true, useAliasInUsageLine: true, onlyRequiredInUsageLine: true },
    completion: { includeAliases: false, includeHiddenRoutes: false },
  });
}
