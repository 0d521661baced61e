/** The form of agents knows the kinds and their keys as the API does. */
import { expect, test } from '@jest/globals';
import { AGENT_KINDS } from '../../../contracts/agent-kinds/index.ts';
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
