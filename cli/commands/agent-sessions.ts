/** What agents remember of conversations. */
import type { AgentSession } from '../../client/index.ts';
import { AGENT } from '../core/agents.ts';
import { argument, command } from '../core/command.ts';
import { flag, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf, viewOf } from '../core/lists.ts';
import { agentId } from '../core/names.ts';
import type { View } from '../core/table.ts';

const SESSION = argument('SESSION', 'The id that its calls name');

const sessionView: View<AgentSession> = {
  columns: [
    ['session', ({ session: id }) => id],
    ['agent', ({ agent_name: name }) => name],
    ['messages', ({ messages }) => messages],
    ['updated', (row) => row.updated_at],
  ],
  name: ({ session: id }) => id,
  none: 'No conversations: cadenza agent invoke AGENT --session ID',
};

export const sessions = command({
  brief: 'List your conversations with an agent, or with all of them, newest first',
  flags: { ...listFlags, search: text('Text in the id or in what was said', 'TEXT') },
  arguments: [{ ...AGENT, optional: true as const }],
  run: async (cli, { search, ...flags }, given) => {
    const query = { q: search, ...pageOf(flags) };
    const { signal } = cli;
    const items =
      given === undefined
        ? cli.client.items('listConversations', { query, signal })
        : cli.client.items('listAgentSessions', { path: { id: await agentId(cli, given) }, query, signal });
    await cli.out.list(await collect(cli, items, flags), viewOf(sessionView, { q: search }));
  },
});

export const session = command({
  brief: 'Show what an agent remembers of a conversation',
  arguments: [AGENT, SESSION],
  run: async (cli, _flags, given, id) => {
    const path = { id: await agentId(cli, given), session: id };
    await cli.out.value(await cli.client.call('getAgentSession', { path, signal: cli.signal }));
  },
});

export const deleteSession = command({
  brief: 'Let an agent forget a conversation',
  flags: { yes: flag('Do not ask') },
  arguments: [AGENT, SESSION],
  hasData: false,
  run: async (cli, { yes }, given, id) => {
    const path = { id: await agentId(cli, given), session: id };
    await confirm(cli, `Let the agent ${given} forget ${id}?`, yes);
    await cli.client.call('deleteAgentSession', { path, signal: cli.signal });
    cli.say(`Forgot the conversation ${id}.`);
  },
});
