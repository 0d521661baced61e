/** Workflows. */
import { buildRouteMap } from '@stricli/core';

import { argument, command, optional, type Context } from '../core/command.ts';
import type { Cli } from '../core/cli.ts';
import { diagramFlags, draw } from '../core/diagram.ts';
import { EXIT, usageError } from '../core/errors.ts';
import { flag, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { lineChanges } from '../core/line-changes.ts';
import { collect, listFlags, pageOf, viewOf, type ListFlags } from '../core/lists.ts';
import { teamId, workflowId } from '../core/names.ts';
import { safeYaml } from '../core/output.ts';
import { ago, oneLine } from '../core/text.ts';
import { problemLines, readWorkflow, WORKFLOW, workflowView } from '../core/workflows.ts';
import { create, edit, exportCommand, schema, update, validate } from './workflow-files.ts';

const list = command({
  brief: 'List own and public workflows, newest first',
  flags: {
    ...listFlags,
    search: text('Text in the name or description', 'TEXT'),
    tag: text('With this tag', 'TAG'),
    team: text('Of this team', 'TEAM'),
    startable: flag('All that you may start, as a builder or one of its runners'),
  },
  run: async (cli, { search, tag, team, startable, ...flags }) => {
    await cli.requireLogIn();
    if (startable === true) return listStartable(cli, search, flags);
    const filters = { q: search, tag, team_id: team === undefined ? undefined : await teamId(cli, team) };
    const query = { ...filters, ...pageOf(flags) };
    const items = cli.client.items('listWorkflows', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), viewOf(workflowView, filters));
  },
});

async function listStartable(cli: Cli, search: string | undefined, flags: ListFlags): Promise<void> {
  const query = { q: search, ...pageOf(flags) };
  const items = cli.client.items('listStartableWorkflows', { query, signal: cli.signal });
  await cli.out.list(await collect(cli, items, flags), {
    columns: [
      ['name', ({ name }) => oneLine(name)],
      ['id', ({ id }) => id],
    ],
    name: ({ id }) => id,
    none: 'No workflows that you may start.',
  });
}

const get = command({
  brief: 'Show a workflow; on a terminal its definition as YAML',
  flags: { definition: flag('Only the definition') },
  arguments: [WORKFLOW],
  run: async (cli, { definition }, given) => {
    const found = await readWorkflow(cli, given);
    if (definition === true) return cli.out.value(found.definition);
    const lines = [
      `${oneLine(found.name)}  revision ${found.revision}`,
      ...problemLines(found.problems),
      ...(found.resources ?? []).map(({ url, digest }) => `pinned  ${oneLine(url)}  ${digest}`),
      ...(await safeYaml(found.definition)).split('\n'),
    ];
    await cli.out.record(found, { ...workflowView, lines: () => lines });
  },
});

const diagram = command({
  brief: 'Draw the definition, as Mermaid or SVG',
  flags: diagramFlags,
  arguments: [WORKFLOW],
  hasData: false,
  run: async (cli, flags, given) => draw(cli, 'getWorkflowDiagram', await workflowId(cli, given), flags),
});

const revisions = command({
  brief: 'List the revisions of a workflow, newest first',
  flags: listFlags,
  arguments: [WORKFLOW],
  run: async (cli, flags, given) => {
    const path = { id: await workflowId(cli, given) };
    const items = cli.client.items('listWorkflowRevisions', {
      path,
      query: pageOf(flags),
      signal: cli.signal,
    });
    await cli.out.list(await collect(cli, items, flags), {
      columns: [
        ['revision', ({ revision }) => revision],
        ['valid', ({ valid }) => (valid ? 'yes' : 'no')],
        ['created', (one) => ago(one.created_at)],
      ],
      name: ({ revision }) => String(revision),
    });
  },
});

const diff = command({
  brief: 'Compare two revisions as YAML; exits with 3 if they differ',
  arguments: [
    WORKFLOW,
    argument('A', 'Number of a revision'),
    optional('B', 'Another; default: the current one'),
  ],
  hasData: false,
  run: async (cli, _flags, given, a, b) => {
    const id = await workflowId(cli, given);
    const { revision: current } = await readWorkflow(cli, id);
    const yaml = async (revision: number): Promise<string> => {
      const path = { id, revision };
      return safeYaml(
        (await cli.client.call('getWorkflowRevision', { path, signal: cli.signal })).definition,
      );
    };
    const changes = lineChanges(await yaml(numberOf(a)), await yaml(b === undefined ? current : numberOf(b)));
    for (const { sign, line } of changes)
      cli.out.text(
        sign === ' ' ? `  ${line}` : cli.out.paint(sign === '+' ? 'green' : 'red', `${sign} ${line}`),
      );
    return changes.some(({ sign }) => sign !== ' ') ? EXIT.no : EXIT.good;
  },
});

function numberOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw usageError(`${text} is no number of a revision.`);
  return Number(text);
}

const remove = command({
  brief: 'Archive a workflow; its runs stay',
  flags: { yes: flag('Do not ask') },
  arguments: [WORKFLOW],
  hasData: false,
  run: async (cli, { yes }, given) => {
    const id = await workflowId(cli, given);
    await confirm(cli, `Delete workflow ${given}?`, yes);
    await cli.client.call('deleteWorkflow', { path: { id }, signal: cli.signal });
    cli.say(`Deleted workflow ${given}.`);
  },
});

const routes = {
  list,
  get,
  create,
  update,
  edit,
  export: exportCommand,
  validate,
  diagram,
  revisions,
  diff,
  schema,
  delete: remove,
};

export const workflowCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Workflows: write, check, compare' },
});
