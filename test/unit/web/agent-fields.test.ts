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
