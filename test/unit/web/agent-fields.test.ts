/** The form of agents knows the kinds and their keys as the API does. */
import { expect, test } from '@jest/globals';
import type { Agent } from '../../../client/index.ts';
import { AGENT_KINDS } from '../../../contracts/agent-kinds/index.ts';
import type { llmConfiguration } from '../../../contracts/agent-kinds/llm.ts';
import { agentSections, type Kind } from '../../../web/src/screens/agents/agent-fields.ts';
import { words } from '../../../web/src/screens/agents/words.ts';

const kinds = Object.keys(words.kinds) as Kind[];

test.each(kinds)('the fields of an agent of kind %s are keys of its configuration', (kind) => {
  const sections = agentSections({ kind, authentication: 'none', workflows: [], agent: null });
  const { schema } = sections.find(({ id }) => id === `configuration-${kind}`) ?? {};
  const fields = Object.keys(schema?.['properties'] ?? {});
  // One field for the whole.
  if (fields.includes('configuration')) return;
  const known = Object.keys(AGENT_KINDS[kind]?.configuration.shape ?? {});
  expect(fields.filter((field) => !known.includes(field))).toEqual([]);
  // What a call cannot do without has a field.
  expect((AGENT_KINDS[kind]?.keys ?? []).filter((key) => !fields.includes(key))).toEqual([]);
});

/** What a form demands of the configuration. */
const demandedOf = (kind: Kind, more: { provider?: string; agent?: Agent } = {}): unknown =>
  agentSections({ kind, authentication: 'none', workflows: [], agent: null, ...more }).find(
    ({ id }) => id === `configuration-${kind}`,
  )?.schema['required'];
const withUrl = { url: 'https://agents.example.com', configuration: {} } as unknown as Agent;
const hasField = (kind: Kind, name: string): boolean =>
  agentSections({ kind, authentication: 'none', workflows: [], agent: null }).some(({ schema }) =>
    Object.hasOwn((schema['properties'] ?? {}) as object, name),
  );

test.each(kinds)('an agent of kind %s is not saved without an address that it needs', (kind) => {
  const address = AGENT_KINDS[kind]?.orUrl;
  // Where the form asks for the URL, that is enough.
  const isDemanded = address !== undefined && !hasField(kind, 'url');
  const demanded = [demandedOf(kind) ?? [], demandedOf(kind, { agent: withUrl }) ?? []];
  expect(demanded.map((names) => address !== undefined && (names as string[]).includes(address))).toEqual([
    isDemanded,
    false,
  ]);
});

test.each(['llm', 'vision'] as const)(
  'a model of kind %s has an address where its provider has none',
  (kind) => {
    expect(demandedOf(kind, { provider: 'openai-compatible' })).toEqual(['base_url']);
    expect(demandedOf(kind)).toEqual(['base_url']);
    expect(demandedOf(kind, { agent: withUrl })).toEqual([]);
    for (const provider of Object.keys(words.providers).filter((name) => name !== 'openai-compatible'))
      expect([provider, demandedOf(kind, { provider })]).toEqual([provider, []]);
    const helpOf = (provider: string) => {
      const { schema } = agentSections({
        kind,
        provider,
        authentication: 'none',
        workflows: [],
        agent: null,
      }).find(({ id }) => id === `configuration-${kind}`)!;
      return (schema['properties'] as any).base_url.description;
    };
    expect([helpOf('openai-compatible'), helpOf('openai')]).toEqual([
      'Of an OpenAI-compatible API.',
      expect.stringContaining('Default: that of the provider.'),
    ]);
  },
);

test('a model has the fields of its provider, and those that are set', () => {
  const given = { kind: 'llm' as const, authentication: 'none' as const, workflows: [] };
  const sectionOf = (provider: string, agent: Agent | null = null) =>
    agentSections({ ...given, provider, agent }).find(({ id }) => id === 'configuration-llm');
  const has = (field: string, ...of: Parameters<typeof sectionOf>): boolean =>
    Object.hasOwn((sectionOf(...of)?.schema['properties'] ?? {}) as object, field);
  expect([has('resource', 'azure'), has('region', 'azure'), has('model', 'azure')]).toEqual([
    true,
    false,
    true,
  ]);
  expect([has('resource', 'openai'), has('region', 'openai')]).toEqual([false, false]);
  expect(sectionOf('azure')?.values).toEqual({ provider: 'azure' });
  expect(sectionOf('openai-compatible')?.values).toEqual({});
  const agent = { configuration: { provider: 'azure', resource: 'mine' } } as unknown as Agent;
  expect([has('resource', 'openai', agent), has('deployment', 'openai', agent)]).toEqual([true, false]);
  expect(sectionOf('openai-compatible', agent)?.values).toMatchObject({ provider: 'openai-compatible' });
  const names = AGENT_KINDS['llm']?.configuration.shape as unknown as typeof llmConfiguration.shape;
  expect(Object.keys(words.providers)).toEqual(names.provider.unwrap().options);
});
