/** What agents have used. */
import type { Usage } from '../../client/index.ts';
import { command } from '../core/command.ts';
import { choice, flag, refuseFlags, text } from '../core/flags.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { agentId, filteredId, workflowId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { oneLine } from '../core/text.ts';

const BY = ['day', 'agent', 'workflow', 'user', 'model', 'run', 'task'] as const;

const usageView: View<Usage> = {
  columns: [
    ['key', ({ key }) => (key === '' ? '-' : oneLine(key))],
    ['name', ({ name }) => name && oneLine(name)],
    ['invocations', ({ invocations }) => invocations],
    ['input tokens', ({ input_tokens: tokens }) => tokens],
    ['output tokens', ({ output_tokens: tokens }) => tokens],
    ['US dollars', ({ cost_usd: usd }) => usd ?? 'unknown'],
    ['of unknown cost', ({ unpriced }) => (unpriced === 0 ? '' : unpriced)],
  ],
  name: ({ key }) => key,
  none: 'Nothing was used.',
};

export const usageCommand = command({
  brief: 'Sum up what agents have used in your runs; admins see those of all users',
  details:
    'Days are those of UTC. --csv prints a table for spreadsheets, of at most 10,000 rows, without ' +
    '--limit, --all and --jq. Its lines end with CR and LF, as RFC 4180 wants; on a terminal with LF only.',
  flags: {
    ...listFlags,
    by: choice('A row for each. Default: day', BY),
    from: text('A time in the first day, such as 2027-01-31T00:00:00Z', 'TIME'),
    to: text('The end', 'TIME'),
    agent: text('Only of this agent', 'AGENT'),
    workflow: text('Only of runs of this workflow', 'WORKFLOW'),
    run: text('Only of this run', 'ID'),
    user: text('Only of runs of this user, or me', 'USER'),
    csv: flag('As CSV'),
  },
  textWith: 'csv',
  run: async (cli, { by, from, to, agent, workflow, run, user, csv, ...flags }) => {
    if (csv === true) refuseFlags(flags, ['limit', 'all'], 'together with --csv');
    await cli.requireLogIn();
    const filters = {
      by,
      from,
      to,
      agent_id: agent === undefined ? undefined : await agentId(cli, agent),
      workflow_id: workflow === undefined ? undefined : await workflowId(cli, workflow),
      run_id: run,
      user_id: await filteredId(cli, user),
    };
    const { signal } = cli;
    if (csv === true) {
      cli.out.exact(await cli.client.call('exportUsage', { query: filters, signal }));
      return;
    }
    const items = cli.client.items('listUsage', { query: { ...filters, ...pageOf(flags) }, signal });
    await cli.out.list(await collect(cli, items, flags), usageView);
  },
});
