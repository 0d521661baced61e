/** Refuses settings of agents that would become headers which no request can have. */
import { agentKind } from '../../contracts/agent-configuration.ts';
import { AGENT_KINDS } from '../../contracts/agent-kinds/index.ts';
import { CREDENTIAL_KEYS, FIXED_OAUTH_TOKEN } from '../../contracts/credential-keys.ts';
import { headerNameProblem, headerProblems, headerValueProblem } from '../../contracts/header-rules.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { jsonPointer } from '../../contracts/json-pointer.ts';
import { invalid, type FieldError } from '../errors.ts';

type Settings = Record<string, unknown> | null;

interface HeaderSettings {
  type: string;
  execution_type?: string | null | undefined;
  configuration?: Settings | undefined;
  authentication_type?: string | null | undefined;
  authentication_config?: Settings | undefined;
}

/** Kinds that send `configuration.api_key` as a header. */
const KEY_IN_HEADER: ReadonlySet<string> = new Set(['llm', 'vision', 'audio', 'framework']);

/**
 * Looks only at what changes: records from before this check can be changed elsewhere.
 * @throws 422 that names each key
 */
export function checkAgentHeaders(agent: HeaderSettings, before?: HeaderSettings): void {
  const isNew = (part: 'configuration' | 'authentication_config'): boolean =>
    before === undefined || JSON.stringify(before[part] ?? null) !== JSON.stringify(agent[part] ?? null);
  const errors = [
    ...(isNew('configuration') ? configurationErrors(agent) : []),
    ...(isNew('authentication_config') ? authenticationErrors(agent) : []),
  ];
  if (errors.length > 0) throw invalid(errors);
}

function configurationErrors(agent: HeaderSettings): FieldError[] {
  const configuration = agent.configuration ?? {};
  const kind = agentKind({
    type: agent.type,
    execution_type: agent.execution_type ?? null,
    configuration,
  });
  const known = AGENT_KINDS[kind]?.configuration.shape ?? {};
  const used = (key: string): unknown => (key in known ? configuration[key] : undefined);
  return [
    ...headersAt(['configuration', 'headers'], used('headers')),
    ...toolErrors(used('tools')),
    ...callbackErrors(used('async')),
    ...listErrors(['configuration', 'extensions'], used('extensions')),
    ...(KEY_IN_HEADER.has(kind) ? valueAt(['configuration', 'api_key'], configuration['api_key']) : []),
  ];
}

function toolErrors(tools: unknown): FieldError[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown, index) => {
    const mcp = isRecord(tool) ? tool['mcp'] : undefined;
    return isRecord(mcp)
      ? headersAt(['configuration', 'tools', String(index), 'mcp', 'headers'], mcp['headers'])
      : [];
  });
}

function callbackErrors(long: unknown): FieldError[] {
  const name = isRecord(long) ? long['header'] : undefined;
  return nameAt(['configuration', 'async', 'header'], name);
}

function listErrors(path: readonly string[], items: unknown): FieldError[] {
  return Array.isArray(items)
    ? items.flatMap((item: unknown, index) => valueAt([...path, String(index)], item))
    : [];
}

function authenticationErrors({ authentication_type: type, authentication_config: config }: HeaderSettings) {
  if (!config) return [];
  const values = (keys: readonly string[]): FieldError[] =>
    keys.flatMap((key) => valueAt(['authentication_config', key], config[key]));
  if (type === 'jwt') return values(CREDENTIAL_KEYS.jwt[0]);
  if (type === 'oauth') return values(FIXED_OAUTH_TOKEN);
  if (type !== 'api_key' || config['in'] === 'query') return [];
  return [
    // The name of a cookie is part of a value, that of the header Cookie.
    ...(config['in'] === 'cookie'
      ? values(['name'])
      : nameAt(['authentication_config', 'name'], config['name'])),
    ...values(['prefix', ...CREDENTIAL_KEYS.api_key[0]]),
  ];
}

function headersAt(path: readonly string[], headers: unknown): FieldError[] {
  return headerProblems(headers).map(({ key, message }) => errorAt([...path, key], message));
}

function nameAt(path: readonly string[], name: unknown): FieldError[] {
  if (typeof name !== 'string' || name === '') return [];
  const problem = headerNameProblem(name);
  return problem === null ? [] : [errorAt(path, `${JSON.stringify(name.slice(0, 60))} ${problem}`)];
}

function valueAt(path: readonly string[], value: unknown): FieldError[] {
  const problem = headerValueProblem(value);
  return problem === null ? [] : [errorAt(path, `"${path.at(-1)}" ${problem}`)];
}

function errorAt(path: readonly string[], message: string): FieldError {
  return { pointer: jsonPointer(path), code: 'invalid_header', message };
}
