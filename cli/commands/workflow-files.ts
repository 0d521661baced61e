/** Definitions in files: saved, edited, printed and checked. `validate` works without a server. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { DefinitionProblem, UpdateWorkflowRequest, Workflow } from '../../client/index.ts';
import { counted } from '../../contracts/counted.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { sayWarnings } from '../core/agents.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, commandOfMany, optional } from '../core/command.ts';
import { CliError, EXIT, usageError } from '../core/errors.ts';
import { choice, count, flag, text, texts } from '../core/flags.ts';
import { confirm, definitionIn, readDefinition, sentDefinition, type DefinitionFile } from '../core/input.ts';
import { ofTeam, workflowId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { oneLine, styleOf } from '../core/text.ts';
import { placeIn, readWorkflow, sayProblems, withPlaces, WORKFLOW, workflowView } from '../core/workflows.ts';

export const create = command({
  brief: 'Save a new workflow from a file of YAML or JSON',
  details:
    'A definition with problems is saved as a draft, which cannot run: the problems are on stderr and in ' +
    'the record, and the exit code is 0. cadenza workflow validate exits with 3 for it.',
  flags: {
    name: text('Default: the name in the document', 'NAME'),
    visibility: choice('Who can see it (default private)', ['private', 'public']),
    description: text('What it is for', 'TEXT'),
    tag: texts('Tag', 'TAG'),
    team: text('For this team', 'TEAM'),
  },
  arguments: [argument('FILE', 'The definition, - for standard input')],
  run: async (cli, { name, visibility, description, tag, team }, file) => {
    const read = await readDefinition(cli, file);
    const body = {
      name: name ?? nameIn(read.definition, file),
      definition: sentDefinition(read),
      ...(visibility === undefined ? {} : { visibility }),
      ...(description === undefined ? {} : { description }),
      ...(tag === undefined ? {} : { tags: [...tag] }),
      ...(await ofTeam(cli, team)),
    };
    const saved = await cli.client.call('createWorkflow', { body, signal: cli.signal });
    sayProblems(cli, saved.problems, file);
    sayWarnings(cli, saved);
    await cli.out.record(saved, workflowView);
  },
});

export const update = command({
  brief: 'Save a new revision from a file of YAML or JSON, or change who may start the workflow',
  details:
    'The file is kept as it is written; without one the definition stays. Runners may start the workflow ' +
    'whatever their role. Users that are given replace those before, and so do groups; --no-runners takes ' +
    'all others away, also everyone. A definition with problems is saved too, as by create.',
  flags: {
    runnerUser: texts('Id or username of a user who may start it', 'USER'),
    runnerGroup: texts('Group whose members may start it', 'GROUP'),
    runnerEveryone: flag('Everyone who is signed in may start it'),
    noRunners: flag('Nobody may start it as a runner, but those who are given with it'),
  },
  arguments: [WORKFLOW, optional('FILE', 'The definition, - for standard input')],
  run: async (cli, given, name, file) => {
    const runners = runnersIn(given);
    if (file === undefined && runners === null) throw usageError('Give a FILE or a flag with what changes.');
    const body = {
      ...(file === undefined ? {} : { definition: sentDefinition(await readDefinition(cli, file)) }),
      ...(runners === null ? {} : { runners }),
    };
    const path = { id: await workflowId(cli, name) };
    const saved = await cli.client.call('updateWorkflow', { path, body, signal: cli.signal });
    sayProblems(cli, saved.problems, file);
    sayWarnings(cli, saved);
    await cli.out.record(saved, workflowView);
  },
});

interface RunnerFlags {
  runnerUser?: readonly string[] | undefined;
  runnerGroup?: readonly string[] | undefined;
  runnerEveryone?: boolean | undefined;
  noRunners?: boolean | undefined;
}

type Runners = NonNullable<UpdateWorkflowRequest['runners']>;

/** What changes of the runners; null if nothing does. */
function runnersIn({ runnerUser, runnerGroup, runnerEveryone, noRunners }: RunnerFlags): Runners | null {
  const runners: Runners = {
    ...(noRunners === true ? { users: [], groups: [], everyone: false } : {}),
    ...(runnerUser === undefined ? {} : { users: [...runnerUser] }),
    ...(runnerGroup === undefined ? {} : { groups: [...runnerGroup] }),
    ...(runnerEveryone === true ? { everyone: true } : {}),
  };
  return Object.keys(runners).length === 0 ? null : runners;
}

export const exportCommand = command({
  brief: 'Print the definition as YAML, as its author has written it',
  flags: { revision: count('Default: the current one') },
  arguments: [WORKFLOW],
  hasData: false,
  run: async (cli, { revision }, given) => {
    const path = { id: await workflowId(cli, given) };
    const text = await cli.client.call('getWorkflowText', { path, query: { revision }, signal: cli.signal });
    cli.out.exact(text.endsWith('\n') ? text : `${text}\n`);
  },
});

export const schema = command({
  brief: 'Print the JSON Schema of definitions, with the inputs of the agents that you can use',
  details:
    'For editors: save it, and begin a definition with `# yaml-language-server: $schema=FILE` for the YAML ' +
    'extension of VS Code. Without a log-in it has no agents.',
  run: async (cli) => {
    await cli.out.value(await cli.client.call('getWorkflowSchema', { signal: cli.signal }));
  },
});

function nameIn(definition: Record<string, unknown>, file: string): string {
  const { document } = definition;
  if (isRecord(document) && typeof document['name'] === 'string') return document['name'];
  throw usageError(`${file} has no document.name: give one with --name.`);
}

export const edit = command({
  brief: 'Change the definition in $EDITOR; problems are shown before it is saved',
  arguments: [WORKFLOW],
  run: async (cli, _flags, given) => {
    const found = await readWorkflow(cli, given);
    const folder = mkdtempSync(join(tmpdir(), 'cadenza-'));
    const file = join(folder, 'workflow.yaml');
    const query = { revision: found.revision };
    const path = { id: found.id };
    const before = await cli.client.call('getWorkflowText', { path, query, signal: cli.signal });
    writeFileSync(file, before, { mode: 0o600 });
    try {
      const definition = await edited(cli, file, before);
      const body = { definition };
      const saved = await cli.client.call('updateWorkflow', {
        path,
        body,
        headers: await unchanged(cli, found),
      });
      sayProblems(cli, saved.problems);
      sayWarnings(cli, saved);
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

async function edited(cli: Cli, file: string, before: string): Promise<Record<string, unknown> | string> {
  const editor = cli.env['VISUAL'] || cli.env['EDITOR'] || 'vi';
  const { status } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
  if (status !== 0) throw new CliError(`${editor} ended with ${String(status)}.`, { code: 'editor_failed' });
  const after = readFileSync(file, 'utf8');
  if (after === before) throw new CliError('Nothing was changed.', { code: 'unchanged' });
  const read = await definitionIn(after, file);
  const { validateDefinition } = await import('../../language/definition/validate.ts');
  const { problems, valid } = validateDefinition(read.definition);
  sayProblems(cli, withPlaces(problems, read));
  if (!valid) await confirm(cli, 'The definition has errors. Save it as a draft?', undefined);
  return sentDefinition(read);
}

interface FileProblem extends DefinitionProblem {
  file: string;
}

export const validate = commandOfMany({
  brief: 'Check definitions without a server; exits with 3 if one is not valid or cannot run',
  details:
    'Uses the validator of the server. Names of agents are not looked up. Functions and schemas from ' +
    'elsewhere are not fetched, which a warning says. With --server the server checks, and does both, but ' +
    'sends no secrets: it warns of what needs one.',
  flags: { server: flag('Let the server check: also names of agents, and what is fetched') },
  many: { placeholder: 'FILE', brief: 'A definition of YAML or JSON, - for standard input', minimum: 1 },
  run: async (cli, { server }, files) => {
    const problems: FileProblem[] = [];
    for (const file of files) {
      const read = await readDefinition(cli, file);
      const check = server === true ? problemsAtServer : problemsHere;
      const found = withPlaces(await check(cli, read), read);
      problems.push(...found.map((one) => ({ file, ...one })));
    }
    await cli.out.list(problems, problemView);
    const count = (wanted: DefinitionProblem['severity']): number =>
      problems.filter(({ severity }) => severity === wanted).length;
    const [errors, unsupported] = [count('error'), count('unsupported')];
    if (errors > 0) cli.say(`${counted(errors, 'error')}.`);
    else cli.say(unsupported === 0 ? 'Valid.' : `Valid, but it cannot run: ${unsupported} unsupported.`);
    return errors === 0 && unsupported === 0 ? EXIT.good : EXIT.no;
  },
});

async function problemsHere(_cli: Cli, { definition }: DefinitionFile): Promise<DefinitionProblem[]> {
  const { validateDefinition } = await import('../../language/definition/validate.ts');
  return validateDefinition(definition).problems;
}

async function problemsAtServer(cli: Cli, read: DefinitionFile): Promise<DefinitionProblem[]> {
  const body = { definition: sentDefinition(read) };
  return (await cli.client.call('validateWorkflow', { body, signal: cli.signal })).problems;
}

const problemView: View<FileProblem> = {
  columns: [
    ['file', ({ file }) => file],
    ['severity', ({ severity }) => severity],
    ['place', ({ pointer }) => pointer],
    ['problem', ({ message }) => message],
  ],
  name: ({ file, pointer }) => `${file}#${pointer}`,
  line: ({ file, severity, pointer, message, line, column }, paint) => {
    const place = oneLine(placeIn(file, line, column));
    const shown = paint(styleOf(severity) ?? 'yellow', severity);
    return `${place}: ${shown} at ${oneLine(pointer || '/')}: ${oneLine(message)}`;
  },
  none: 'No problems.',
};
