/** An agent's kind, and what is wrong with its `configuration` (docs/agents.md). */
import * as z from 'zod';
import { AGENT_KINDS } from './agent-kinds/index.ts';
import type { AgentKind } from './agent-kinds/kind.ts';
import { issueText } from './issue-texts.ts';
import { ownPrice } from './prices.ts';
import { escapeToken } from './json-pointer.ts';
import { secretEndpoint } from './secret-endpoint.ts';
import { didYouMean } from './suggest.ts';
import { credentialProblems } from './credential-keys.ts';
import { credentialsIn, namesCredential } from './credentials.ts';

export interface ConfigurationWarning {
  /** JSON pointer into the agent's record. */
  pointer: string;
  message: string;
}

const MODEL_TYPES: ReadonlySet<string> = new Set(['llm', 'vision', 'audio']);

/**
 * The adapter kind of an agent: `execution_type`, else `type`. An agent of type `llm`, `vision` or `audio`
 * with the configuration of a model remains one, even with `execution_type: api`.
 */
export function agentKind(agent: {
  type: string;
  execution_type: string | null;
  configuration: Record<string, unknown> | null;
}): string {
  const { type, execution_type: executionType, configuration } = agent;
  if (
    MODEL_TYPES.has(type) &&
    executionType === 'api' &&
    configuration?.['endpoint'] === undefined &&
    (configuration?.['base_url'] !== undefined || configuration?.['provider'] !== undefined)
  )
    return type;
  return executionType ?? type;
}

/** Keys that agents of every kind have. */
const COMMON_KEYS = z.looseObject({ price: ownPrice.optional() });

export interface CheckedAgent {
  type: string;
  execution_type: string | null;
  configuration: Record<string, unknown> | null;
  url?: string | null | undefined;
  authentication_type?: string | null | undefined;
  authentication_config?: Record<string, unknown> | null | undefined;
}

/** Warnings about keys that are ignored or make invocations fault. They never prevent saving. */
export function configurationWarnings(agent: CheckedAgent): ConfigurationWarning[] {
  const kind = agentKind(agent);
  const used = AGENT_KINDS[kind];
  if (used === undefined) {
    return [
      {
        pointer: agent.execution_type === null ? '/type' : '/execution_type',
        message: `agents of kind "${kind}" cannot be invoked`,
      },
    ];
  }
  const configuration = agent.configuration ?? {};
  const known = [...Object.keys(used.configuration.shape), ...Object.keys(COMMON_KEYS.shape)];
  const unknown = Object.keys(configuration)
    .filter((key) => !known.includes(key) && !namesCredential(key) && key !== 'a2a')
    .map((key) => ({
      pointer: `/configuration/${escapeToken(key)}`,
      message:
        `"${key}" is not a key that agents of this kind use${didYouMean(key, known) || ';'} ` +
        `it is kept and has no effect (known: ${known.join(', ')})`,
    }));
  const issues = [used.configuration, COMMON_KEYS].flatMap(
    (schema) => schema.safeParse(configuration, { error: issueText }).error?.issues ?? [],
  );
  const invalid = issues.map((issue) => ({
    pointer: ['/configuration', ...issue.path.map((key) => escapeToken(String(key)))].join('/'),
    message: `${issue.message}; invoking the agent will fault`,
  }));
  const credentials =
    used.sendsCredentials === false
      ? []
      : credentialProblems(agent.authentication_type, agent.authentication_config, configuration);
  return [
    ...missingKeys(used, agent.url ?? null, configuration),
    ...kindProblems(used, agent, configuration),
    ...badAddress(used, configuration),
    ...invalid,
    ...credentials,
    ...unknown,
  ];
}

function kindProblems(
  used: AgentKind,
  { url = null, authentication_type = null }: CheckedAgent,
  configuration: Record<string, unknown>,
): ConfigurationWarning[] {
  const problems = used.problems?.({ configuration, url, authentication_type }) ?? [];
  return problems.map(({ key, message }) => ({
    pointer: `/configuration/${key}`,
    message: `${message}; invoking the agent will fault`,
  }));
}

/** `<NAME>` and `{name}`, which are known only when the address is called. */
const OPEN_PARTS = /<[A-Z][A-Z0-9_]*>|\{[^{}]*\}/g;

/** An address that can never be called. */
function badAddress(
  { orUrl, address: named }: AgentKind,
  configuration: Record<string, unknown>,
): ConfigurationWarning[] {
  const key = orUrl ?? named ?? '';
  const address = configuration[key];
  if (typeof address !== 'string' || address === '' || /^[<{]/.test(address)) return [];
  const filled = address.replace(OPEN_PARTS, '1');
  if (/^https?:\/\//i.test(filled) && URL.canParse(filled)) return [];
  return [
    {
      pointer: `/configuration/${key}`,
      message: `${JSON.stringify(address)} is no http or https URL; invoking the agent will fault`,
    },
  ];
}

/** The URL that an agent is called at, and where it is written; null unless its host and port are known. */
export function calledUrl(agent: CheckedAgent): { pointer: string; url: URL } | null {
  const kind = AGENT_KINDS[agentKind(agent)];
  const key = kind?.orUrl ?? kind?.address;
  if (kind === undefined || key === undefined) return null;
  const configuration = agent.configuration ?? {};
  const isAtUrl = kind.orUrl !== undefined || kind.isCalledAtUrl?.(configuration) === true;
  const [pointer, address] = configuration[key]
    ? [`/configuration/${key}`, configuration[key]]
    : ['/url', isAtUrl ? agent.url : null];
  if (typeof address !== 'string' || !/^https?:\/\/[^/?#<{]+([/?#]|$)/i.test(address)) return null;
  const filled = address.replace(OPEN_PARTS, '1');
  return URL.canParse(filled) ? { pointer, url: new URL(filled) } : null;
}

function missingKeys(
  { orUrl, keys }: AgentKind,
  url: string | null,
  configuration: Record<string, unknown>,
): ConfigurationWarning[] {
  const isUnset = (key: string): boolean =>
    [undefined, null, ''].some((unset) => configuration[key] === unset);
  const missing = (key: string, more = ''): ConfigurationWarning => ({
    pointer: `/configuration/${key}`,
    message: `"${key}" is missing${more}; invoking the agent will fault`,
  });
  return [
    ...(orUrl !== undefined && isUnset(orUrl) && !url ? [missing(orUrl, ', and the agent has no url')] : []),
    ...keys.filter(isUnset).map((key) => missing(key)),
  ];
}

/** Parts of an agent that everybody who can see the agent can read. */
export interface ReadableParts {
  configuration?: unknown;
  authentication_config?: unknown;
  url?: string | null | undefined;
  description?: string | null | undefined;
  documentation?: string | null | undefined;
  team_id?: string | null | undefined;
}

/** Warnings about text that looks like a credential and was not moved to the secret store. */
export function credentialWarnings(parts: ReadableParts): ConfigurationWarning[] {
  return (['configuration', 'authentication_config', 'url', 'description', 'documentation'] as const).flatMap(
    (part) =>
      credentialsIn(parts[part], `/${part}`).map((pointer) => ({
        pointer,
        message:
          'looks like a credential, which everybody who sees the agent can read: ' +
          `store it with ${secretEndpoint('{name}', parts.team_id)}, and write <NAME> in its place`,
      })),
  );
}
