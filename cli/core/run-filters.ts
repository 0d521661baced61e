/** What lists of runs, and actions on many, can be narrowed to. */
import type { Operations } from '../../client/index.ts';
import type { Cli } from './cli.ts';
import { sets, text, type ValuesOf } from './flags.ts';
import { agentId, ofOwner, ofTeam, startableId } from './names.ts';

export const runFilters = {
  status: text('One or more of pending, running, waiting, …, separated by commas', 'STATUS'),
  workflow: text('Runs of this workflow', 'WORKFLOW'),
  agent: text('Runs that use this agent', 'AGENT'),
  parent: text('Runs that this run has started', 'RUN'),
  team: text('Runs of workflows of this team', 'TEAM'),
  owner: text('Runs of this user, or me; admins see those of everybody', 'USER'),
  tag: text('Runs of workflows with this tag', 'TAG'),
  runTag: text('Runs with these tags of their own, separated by commas', 'TAG'),
  label: text('Runs with these labels, such as team=sales, separated by commas', 'NAME=VALUE'),
  key: text('Runs that were started with this key', 'KEY'),
  after: sets(text('Created after this time, such as 2027-01-31T18:00:00Z', 'TIME'), 'created_after'),
  before: sets(text('Created before this time', 'TIME'), 'created_before'),
  search: text('Text in the name of the workflow', 'TEXT'),
};
type RunFilters = ValuesOf<typeof runFilters>;

export async function runQuery(
  cli: Cli,
  {
    status,
    workflow,
    agent,
    parent,
    team,
    owner,
    tag,
    runTag,
    label,
    key,
    after,
    before,
    search,
  }: RunFilters,
): Promise<NonNullable<Operations['listRuns']['query']>> {
  return {
    status,
    workflow_id: workflow === undefined ? undefined : await startableId(cli, workflow),
    agent_id: agent === undefined ? undefined : await agentId(cli, agent),
    parent_run_id: parent,
    ...(await ofTeam(cli, team)),
    ...(await ofOwner(cli, owner)),
    tag,
    run_tag: runTag,
    label,
    key,
    created_after: after,
    created_before: before,
    q: search,
  };
}
