/** Every hint names an alternative that runs today. */
import { expect, test } from '@jest/globals';

import { INSTEAD } from '../../../../language/definition/support.ts';
import { validateDefinition } from '../../../../language/definition/validate.ts';

/** A task of each kind that hints may name. */
const named: Record<string, Record<string, unknown>> = {
  'call: http': { call: 'http', with: { method: 'get', endpoint: 'https://example.com' } },
  'call: agent': { call: 'agent', with: { agent: 'a' } },
  'call: human': { call: 'human', with: { title: 'Go on?' } },
  set: { set: { a: 1 } },
  switch: { switch: [{ a: { then: 'end' } }] },
  wait: { wait: { seconds: 1 } },
};
/** Types of agents that a workflow can invoke. */
const invocableTypes = ['api', 'llm', 'a2a', 'workflow'];

const hints = Object.entries(INSTEAD).map(([feature, text]) => ({
  feature,
  text,
  instead: text.slice(text.indexOf(':', text.includes('yet:') ? text.indexOf('yet:') : 0) + 1),
}));

test.each(hints)('the hint for $feature names what runs: $instead', ({ feature, instead }) => {
  if (feature.startsWith('call.')) expect(instead).not.toContain(feature.replace('.', ': '));
  for (const [call] of instead.matchAll(/call: \w+/g)) expect(Object.keys(named)).toContain(call);
  for (const [, type] of instead.matchAll(/of type (\w+)/g)) expect(invocableTypes).toContain(type);
  // Not every agent can be invoked, so a hint that mentions agents names their type.
  if (/\bagent\b/.test(instead.replaceAll('call: agent', ''))) expect(instead).toMatch(/agent of type/);
});

test.each(Object.entries(named))('the alternative %s is runnable', (_name, task) => {
  expect(validateDefinition({ do: [{ task }] })).toMatchObject({ valid: true, runnable: true });
});

test('the hint for MCP names a gateway, not an agent type that cannot be invoked', () => {
  const definition = {
    do: [
      {
        tool: {
          call: 'grpc',
          with: {
            proto: { endpoint: 'file://greet.proto' },
            service: { name: 'a.Greeter', host: 'example.com' },
            method: 'Greet',
          },
        },
      },
    ],
  };
  const [problem] = validateDefinition(definition).problems.filter(
    ({ severity }) => severity === 'unsupported',
  );
  expect(problem?.message).toBe(
    'a .proto document is fetched over http or https: serve it there, or omit "proto" if the server offers ' +
      'reflection',
  );
});
