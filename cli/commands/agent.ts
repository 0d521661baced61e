/** Agents. */
import { buildRouteMap } from '@stricli/core';

import { ApiError, type CreateAgentRequest, type UpdateAgentRequest } from '../../client/index.ts';
import { AGENT_STATUSES, AGENT_TYPES } from '../../contracts/agent-types.ts';
import { AGENT, agentView, sayWarnings } from '../core/agents.ts';
import { withFiles } from '../core/attach.ts';
import { budgetFlags, budgetOf } from '../core/budget-flags.ts';
import { argument, command, optional, type Context } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { choice, flag, text, texts } from '../core/flags.ts';
import { checkForm, readForm } from '../core/form.ts';
import { confirm, readRecord } from '../core/input.ts';
import { collect, listFlags, pageOf, viewOf } from '../core/lists.ts';
import { agentId, ofTeam } from '../core/names.ts';
import { canary, endCanary, setCanary } from './agent-canary.ts';
import {
  deleteEvaluation,
  evaluate,
  evaluation,
  evaluationCases,
  evaluations,
  retryEvaluation,
} from './agent-evaluations.ts';
import { deleteSession, session as sessionCommand, sessions } from './agent-sessions.ts';
import {
  deleteSkill,
  deprecate,
  draft,
  publish,
  setSkill,
  skills,
  version as versionCommand,
  versions,
} from './agent-parts.ts';
import { check, importAgents, refresh } from './agent-sources.ts';
import { checkEnd, endFlags, inputFlags, toEnd } from './run.ts';

const VISIBILITIES = ['private', 'public'] as const;

const list = command({
  brief: 'List own and public agents, newest first',
  flags: {
    ...listFlags,
    search: text('Text in the name or description', 'TEXT'),
    tag: text('With this tag', 'TAG'),
    type: choice('Of this type', AGENT_TYPES),
    status: choice('In this status', AGENT_STATUSES),
    visibility: choice('Only these', VISIBILITIES),
    team: text('Of this team', 'TEAM'),
  },
  run: async (cli, { search, tag, type, status, visibility, team, ...flags }) => {
    await cli.requireLogIn();
    const held = await ofTeam(cli, team);
    const filters = { q: search, tag, type, status, visibility, team_id: held.team_id };
    const query = { ...filters, ...pageOf(flags) };
    const items = cli.client.items('listAgents', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), viewOf(agentView, filters));
  },
});

const get = command({
  brief: 'Show an agent',
  arguments: [AGENT],
  run: async (cli, _flags, given) => {
    const path = { id: await agentId(cli, given) };
    await cli.out.record(await cli.client.call('getAgent', { path, signal: cli.signal }), agentView);
  },
});

const create = command({
  brief: 'Register an agent from a file of YAML or JSON',
  flags: { team: text('For this team', 'TEAM') },
  arguments: [argument('FILE', 'Its fields, - for standard input')],
  run: async (cli, { team }, file) => {
    // The server checks the fields, and names each that is wrong.
    const body = {
      ...(await readRecord(cli, file)),
      ...(await ofTeam(cli, team)),
    } as unknown as CreateAgentRequest;
    const agent = await cli.client.call('createAgent', { body, signal: cli.signal });
    sayWarnings(cli, agent);
    await cli.out.record(agent, agentView);
  },
});

const update = command({
  brief: 'Change an agent: the fields of a file, and those of flags',
  details:
    'Fields that are not given stay. Another configuration or schema of a published version needs a higher ' +
    '`version` in the file.',
  flags: {
    description: text('What it does', 'TEXT'),
    visibility: choice('Who can see it', VISIBILITIES),
    status: choice('active, or inactive: it is not called any more', AGENT_STATUSES),
    tag: texts('Tag; these replace all others', 'TAG'),
  },
  arguments: [AGENT, optional('FILE', 'Fields as YAML or JSON, - for standard input')],
  run: async (cli, { description, visibility, status, tag }, given, file) => {
    // The server checks the fields, and names each that is wrong.
    const body: UpdateAgentRequest = {
      ...(file === undefined ? {} : await readRecord(cli, file)),
      ...(description === undefined ? {} : { description }),
      ...(visibility === undefined ? {} : { visibility }),
      ...(status === undefined ? {} : { status }),
      ...(tag === undefined ? {} : { tags: [...tag] }),
    };
    if (Object.keys(body).length === 0) throw usageError('Give a FILE or a flag with what changes.');
    const path = { id: await agentId(cli, given) };
    const agent = await cli.client.call('updateAgent', { path, body, signal: cli.signal });
    sayWarnings(cli, agent);
    await cli.out.record(agent, agentView);
  },
});

const remove = command({
  brief: 'Delete an agent with its versions and skills; refused while runs use it',
  flags: { yes: flag('Do not ask') },
  arguments: [AGENT],
  hasData: false,
  run: async (cli, { yes }, given) => {
    const path = { id: await agentId(cli, given) };
    await confirm(cli, `Delete agent ${given} with its versions?`, yes);
    await cli.client.call('deleteAgent', { path, signal: cli.signal });
    cli.say(`Deleted agent ${given}.`);
  },
});

const invoke = command({
  brief: 'Invoke an agent, which starts a run',
  details: 'The input is checked against the schema of the agent before anything starts.',
  flags: {
    ...inputFlags,
    ...endFlags,
    ...budgetFlags,
    version: text('Default: the highest published one', 'VERSION'),
    session: text('Of a language model: the conversation to continue', 'ID'),
  },
  letters: { i: 'input', f: 'file', w: 'watch' },
  arguments: [AGENT],
  run: async (cli, { input: pairs, file, attach, version, session, watch, wait, ...limits }, given) => {
    const end = { watch, wait };
    checkEnd(end);
    const budget = budgetOf(limits);
    const path = { id: await agentId(cli, given) };
    const { input_schema: schema } = await cli.client.call('getAgent', { path, signal: cli.signal });
    // Another version may have another schema; the server knows.
    const read = await readForm(cli, { pairs, file }, schema, { isOpen: version !== undefined });
    const input = await withFiles(cli, read, attach ?? [], { schema });
    if (version === undefined) await checkForm(schema, input ?? {}, '/input');
    const body = {
      ...(input === undefined ? {} : { input }),
      ...(version === undefined ? {} : { version }),
      ...(session === undefined ? {} : { session }),
      ...(budget === undefined ? {} : { budget }),
    };
    const idempotencyKey = crypto.randomUUID();
    return toEnd(
      cli,
      await cli.client.call('invokeAgent', { path, body, idempotencyKey, signal: cli.signal }),
      end,
    );
  },
});

const card = command({
  brief: 'Show the card of an agent',
  arguments: [AGENT],
  run: async (cli, _flags, given) => {
    const path = { agent_id: await agentId(cli, given) };
    await cli.out.value(await cli.client.call('getAgentCard', { path, signal: cli.signal }));
  },
});

const docs = command({
  brief: 'Print the documentation of an agent as its author has written it (Markdown)',
  arguments: [AGENT],
  hasData: false,
  run: async (cli, _flags, given) => {
    const path = { id: await agentId(cli, given) };
    const headers = { accept: 'text/markdown' };
    const text = await cli.client
      .call('getAgentDocumentation', { path, headers, signal: cli.signal })
      .catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
        throw new CliError(`The agent ${given} has no documentation.`, { code: 'not_found' });
      });
    cli.out.text(text);
  },
});

const closeCircuit = command({
  brief: 'Close the circuit breaker of an agent that keeps failing, so that it is called again',
  arguments: [AGENT],
  run: async (cli, _flags, given) => {
    const path = { id: await agentId(cli, given) };
    await cli.out.record(await cli.client.call('closeAgentCircuit', { path, signal: cli.signal }), agentView);
  },
});

const routes = {
  list,
  get,
  create,
  update,
  delete: remove,
  draft,
  publish,
  deprecate,
  versions,
  version: versionCommand,
  skills,
  setSkill,
  deleteSkill,
  invoke,
  canary,
  setCanary,
  endCanary,
  evaluate,
  evaluations,
  evaluation,
  evaluationCases,
  retryEvaluation,
  deleteEvaluation,
  sessions,
  session: sessionCommand,
  deleteSession,
  card,
  docs,
  closeCircuit,
  import: importAgents,
  refresh,
  check,
};

export const agentCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Agents: register, publish, invoke' },
});
