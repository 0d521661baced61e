/** Workflows. `validate` works without a server. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { buildRouteMap } from '@stricli/core';

import type { DefinitionProblem, ListedWorkflow, Workflow } from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, commandOfMany, optional, type Context } from '../core/command.ts';
import { CliError, EXIT, usageError } from '../core/errors.ts';
import { choice, flag, text, texts } from '../core/flags.ts';
import { confirm, parseDocument, readRecord } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { workflowId } from '../core/names.ts';
import { safeYaml } from '../core/output.ts';
import type { View } from '../core/table.ts';
import { ago, oneLine, styleOf } from '../core/text.ts';
import { lineChanges } from '../core/line-changes.ts';

const WORKFLOW = argument('WORKFLOW', 'Name or id', 'workflow');

const workflowView: View<ListedWorkflow | Workflow> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['revision', ({ revision }) => revision],
    ['valid', ({ valid }) => (valid ? 'yes' : 'no')],
    ['visibility', ({ visibility }) => visibility],
    ['changed', (workflow) => ago(workflow.updated_at)],
  ],
  name: ({ id }) => id,
  none: 'No workflows yet: cadenza workflow create FILE',
};

const list = command({
  brief: 'List own and public workflows, newest first',
  flags: {
    ...listFlags,
    search: text('Text in the name or description', 'TEXT'),
    tag: text('With this tag', 'TAG'),
  },
  run: async (cli, { search, tag, ...flags }) => {
    await cli.requireLogIn();
    const items = cli.client.items('listWorkflows', {
      query: { q: search, tag, ...pageOf(flags) },
      signal: cli.signal,
    });
    await cli.out.list(await collect(cli, items, flags), workflowView);
  },
});

const get = command({
  brief: 'Show a workflow; on a terminal its definition as YAML',
  flags: { definition: flag('Only the definition') },
  arguments: [WORKFLOW],
  run: async (cli, { definition }, given) => {
    const found = await read(cli, given);
    if (definition === true) return cli.out.value(found.definition);
    const lines = [
      `${oneLine(found.name)}  revision ${found.revision}`,
      ...problemLines('', found.problems),
      ...(found.resources ?? []).map(({ url, digest }) => `pinned  ${oneLine(url)}  ${digest}`),
      ...(await safeYaml(found.definition)).split('\n'),
    ];
    await cli.out.record(found, { ...workflowView, lines: () => lines });
  },
});

async function read(cli: Cli, given: string): Promise<Workflow> {
  return cli.client.call('getWorkflow', { path: { id: await workflowId(cli, given) }, signal: cli.signal });
}

const create = command({
  brief: 'Save a new workflow from a file of YAML or JSON',
  flags: {
    name: text('Default: the name in the document', 'NAME'),
    visibility: choice('Who can see it (default private)', ['private', 'public']),
    description: text('What it is for', 'TEXT'),
    tag: texts('Tag', 'TAG'),
  },
  arguments: [argument('FILE', 'The definition, - for standard input')],
  run: async (cli, { name, visibility, description, tag }, file) => {
    const definition = await readRecord(cli, file);
    const body = {
      name: name ?? nameIn(definition, file),
      definition,
      ...(visibility === undefined ? {} : { visibility }),
      ...(description === undefined ? {} : { description }),
      ...(tag === undefined ? {} : { tags: [...tag] }),
    };
    const saved = await cli.client.call('createWorkflow', { body, signal: cli.signal });
    sayProblems(cli, saved.problems);
    await cli.out.record(saved, workflowView);
  },
});

function nameIn(definition: Record<string, unknown>, file: string): string {
  const { document } = definition;
  if (isRecord(document) && typeof document['name'] === 'string') return document['name'];
  throw usageError(`${file} has no document.name: give one with --name.`);
}

const edit = command({
  brief: 'Change the definition in $EDITOR; problems are shown before it is saved',
  arguments: [WORKFLOW],
  run: async (cli, _flags, given) => {
    const found = await read(cli, given);
    const folder = mkdtempSync(join(tmpdir(), 'cadenza-'));
    const file = join(folder, 'workflow.yaml');
    const before = `${await safeYaml(found.definition)}\n`;
    writeFileSync(file, before, { mode: 0o600 });
    try {
      const definition = await edited(cli, file, before);
      const body = { definition };
      const path = { id: found.id };
      const saved = await cli.client.call('updateWorkflow', {
        path,
        body,
        headers: await unchanged(cli, found),
      });
      sayProblems(cli, saved.problems);
      await cli.out.record(saved, workflowView);
      rmSync(folder, { recursive: true });
    } catch (error) {
      if (error instanceof CliError && error.code === 'unchanged') rmSync(folder, { recursive: true });
      else cli.say(`Your text is still in ${file}`);
      throw error;
    }
  },
});

/** `If-Match` of the record that is being edited, so that nobody's change in between is lost. */
async function unchanged(cli: Cli, { id, revision }: Workflow): Promise<Record<string, string>> {
  const response = await cli.session.fetch(`${cli.session.url}/workflows/${id}`, { signal: cli.signal });
  const now = (await response.json()) as Workflow;
  if (now.revision !== revision)
    throw new CliError('Somebody has changed the workflow in the meantime.', {
      code: 'revision_changed',
      exitCode: EXIT.conflict,
    });
  const etag = response.headers.get('etag');
  return etag === null ? {} : { 'if-match': etag };
}

async function edited(cli: Cli, file: string, before: string): Promise<Record<string, unknown>> {
  const editor = cli.env['VISUAL'] || cli.env['EDITOR'] || 'vi';
  const { status } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
  if (status !== 0) throw new CliError(`${editor} ended with ${String(status)}.`, { code: 'editor_failed' });
  const after = readFileSync(file, 'utf8');
  if (after === before) throw new CliError('Nothing was changed.', { code: 'unchanged' });
  const definition = await parseDocument(after, file);
  if (!isRecord(definition)) throw new CliError(`${file} is no object.`, { code: 'file_unreadable' });
  const { validateDefinition } = await import('../../language/definition/validate.ts');
  const { problems, valid } = validateDefinition(definition);
  sayProblems(cli, problems);
  if (!valid) await confirm(cli, 'The definition has errors. Save it as a draft?', undefined);
  return definition;
}

interface FileProblem extends DefinitionProblem {
  file: string;
}

const validate = commandOfMany({
  brief: 'Check definitions without a server; exits with 3 if one is not valid',
  details:
    'Uses the validator of the server. Names of agents are not looked up. Functions and schemas from ' +
    'elsewhere are not fetched, which a warning says.',
  many: { placeholder: 'FILE', brief: 'A definition of YAML or JSON, - for standard input', minimum: 1 },
  run: async (cli, _flags, files) => {
    const { validateDefinition } = await import('../../language/definition/validate.ts');
    const problems: FileProblem[] = [];
    for (const file of files)
      problems.push(
        ...validateDefinition(await readRecord(cli, file)).problems.map((one) => ({ file, ...one })),
      );
    await cli.out.list(problems, problemView);
    const errors = problems.filter(({ severity }) => severity === 'error').length;
    cli.say(errors === 0 ? 'Valid.' : `${errors} ${errors === 1 ? 'error' : 'errors'}.`);
    return errors === 0 ? EXIT.good : EXIT.no;
  },
});

const problemView: View<FileProblem> = {
  columns: [
    ['file', ({ file }) => file],
    ['severity', ({ severity }) => severity],
    ['place', ({ pointer }) => pointer],
    ['problem', ({ message }) => message],
  ],
  name: ({ file, pointer }) => `${file}#${pointer}`,
  line: ({ file, severity, pointer, message }, paint) =>
    `${oneLine(file)}: ${paint(styleOf(severity) ?? 'yellow', severity)} at ${oneLine(pointer || '/')}: ` +
    oneLine(message),
  none: 'No problems.',
};

const problemLines = (file: string, problems: readonly DefinitionProblem[]): string[] =>
  problems.map(
    ({ severity, pointer, message }) => `${file}${severity} at ${pointer || '/'}: ${oneLine(message)}`,
  );

function sayProblems(cli: Cli, problems: readonly DefinitionProblem[]): void {
  for (const line of problemLines('', problems)) cli.say(line);
}

const diagram = command({
  brief: 'Draw the definition, as Mermaid or SVG',
  flags: { svg: flag('SVG instead of Mermaid') },
  arguments: [WORKFLOW],
  run: async (cli, { svg }, given) => {
    const path = { id: await workflowId(cli, given) };
    const accept = svg === true ? 'image/svg+xml' : 'text/vnd.mermaid, text/plain;q=0.9';
    cli.out.text(
      await cli.client.call('getWorkflowDiagram', { path, headers: { accept }, signal: cli.signal }),
    );
  },
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
  run: async (cli, _flags, given, a, b) => {
    const id = await workflowId(cli, given);
    const { revision: current } = await read(cli, id);
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
  run: async (cli, { yes }, given) => {
    const id = await workflowId(cli, given);
    await confirm(cli, `Delete workflow ${given}?`, yes);
    await cli.client.call('deleteWorkflow', { path: { id }, signal: cli.signal });
    cli.say(`Deleted workflow ${given}.`);
  },
});

const routes = { list, get, create, edit, validate, diagram, revisions, diff, delete: remove };

export const workflowCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Workflows: write, check, compare' },
});
