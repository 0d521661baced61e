/** Which own secrets the form of an installation offers. */
import { expect, test } from '@jest/globals';

import { bindingSchema } from '../../../web/src/screens/marketplace/bindings.ts';

const names = ['API_KEY', 'my-token'];
const offered = (kind: 'agent' | 'workflow') =>
  bindingSchema(
    kind,
    [
      { name: 'TOKEN', agent: null },
      { name: 'a/b/KEY', agent: 'a/b' },
    ],
    names,
  );
const choices = (...own: string[]) => own.map((name) => ({ const: name, title: name }));

test('a workflow binds any secret, an agent only those that its configuration can name', () => {
  expect(offered('workflow')).toEqual({
    type: 'object',
    properties: {
      TOKEN: { title: 'TOKEN', oneOf: choices('API_KEY', 'my-token') },
      'a/b/KEY': { title: 'KEY of a/b', oneOf: choices('API_KEY') },
    },
  });
  expect(offered('agent')).toMatchObject({ properties: { TOKEN: { oneOf: choices('API_KEY') } } });
});
