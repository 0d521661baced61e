/** Agents from elsewhere, and checks of counterparts. */
import { SOURCE_KINDS } from '../../contracts/source-kinds.ts';
import { AGENT } from '../core/agents.ts';
import { argument, command } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { choice, flag, text, texts } from '../core/flags.ts';
import { agentId } from '../core/names.ts';

export const importAgents = command({
  brief: 'Register agents from an A2A card, an OpenAPI document, an MCP server or a LangGraph server',
  details:
    'By default it only shows what would be made. Agents that were imported before stay as they are: see ' +
    'cadenza agent refresh.',
  flags: {
    from: choice('What the address is of', SOURCE_KINDS),
    select: texts('An operation, a tool or an assistant; * for an MCP server as one agent', 'NAME'),
    version: text('Of the agents; default: 1.0.0', 'VERSION'),
    apiKey: text('Name of a secret that is sent as X-API-Key', 'SECRET'),
    bearer: text('Name of a secret that is sent as a bearer token', 'SECRET'),
    outputSchemas: flag('Take over the schemas of answers, too: one that does not fit is an error'),
    public: flag('Everybody may see the agents'),
    apply: flag('Register them'),
  },
  arguments: [argument('URL', 'Address of the source')],
  run: async (cli, { from, select, version, apiKey, bearer, outputSchemas, apply, ...flags }, url) => {
    if (from === undefined) throw usageError('Give --from.');
    const body = {
      from,
      url,
      dry_run: !apply,
      visibility: flags.public ? ('public' as const) : ('private' as const),
      ...(select === undefined || select.length === 0 ? {} : { select: [...select] }),
      ...(version === undefined ? {} : { version }),
      ...(outputSchemas ? { output_schemas: true } : {}),
      ...(apiKey === undefined
        ? {}
        : { authentication_type: 'api_key' as const, authentication_config: { api_key: `<${apiKey}>` } }),
      ...(bearer === undefined
        ? {}
        : { authentication_type: 'jwt' as const, authentication_config: { token: `<${bearer}>` } }),
    };
    await cli.out.value(await cli.client.call('importAgents', { body, signal: cli.signal }));
  },
});

export const refresh = command({
  brief: 'Show what has changed at the source of an imported agent',
  flags: {
    apply: flag('Take it over: a change of configuration or schema becomes a new draft'),
    version: text('Of the new draft; default: the next minor version', 'VERSION'),
  },
  arguments: [AGENT],
  run: async (cli, { apply, version }, given) => {
    const path = { id: await agentId(cli, given) };
    const body = { apply: apply === true, ...(version === undefined ? {} : { version }) };
    await cli.out.value(await cli.client.call('refreshAgent', { path, body, signal: cli.signal }));
  },
});

export const check = command({
  brief: 'Try the counterpart of an agent without doing any work',
  details: 'Ends with an error if the counterpart does not work.',
  arguments: [AGENT],
  run: async (cli, _flags, given) => {
    const path = { id: await agentId(cli, given) };
    const result = await cli.client.call('checkAgent', { path, signal: cli.signal });
    await cli.out.value(result);
    if (result.status === 'failed')
      throw new CliError(`The check of ${given} failed: ${result.detail}`, { code: 'check_failed' });
  },
});
