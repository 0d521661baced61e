/** How agents and their versions are named and shown. */
import type { Agent, AgentVersion, ListedAgent } from '../../client/index.ts';
import type { Cli } from './cli.ts';
import { argument } from './command.ts';
import type { View } from './table.ts';

export const AGENT = argument('AGENT', 'Name or id', 'agent');
export const VERSION = argument('VERSION', 'Such as 1.2.0');

export const agentView: View<ListedAgent | Agent> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['type', (agent) => agent.display_type],
    ['status', ({ status }) => status],
    ['version', (agent) => agent.published_version ?? `${agent.version} (draft)`],
    ['visibility', ({ visibility }) => visibility],
  ],
  name: ({ id }) => id,
  none: 'No agents yet: cadenza agent create FILE',
};

type VersionRow = Pick<AgentVersion, 'version' | 'status' | 'created_at' | 'published_at'>;
export const versionView: View<VersionRow> = {
  columns: [
    ['version', ({ version }) => version],
    ['status', ({ status }) => status],
    ['created', (row) => row.created_at],
    ['published', (row) => row.published_at],
  ],
  name: ({ version }) => version,
};

/** Also those of webhooks and workflows. */
export function sayWarnings(cli: Cli, { warnings }: Pick<Agent, 'warnings'>): void {
  for (const { pointer, message } of warnings) cli.say(`warning at ${pointer}: ${message}`);
}
