/** Which objects are named whole by their schemas: the command line and the console decide by it. */
import { expect, test } from '@jest/globals';

import { namesAllMembers, namesNeededMembers } from '../../../contracts/object-members.ts';

const properties = { style: {}, size: {} };

test.each([
  [{ properties }],
  [{ properties, required: ['style'], dependentRequired: { style: ['size'] }, minProperties: 2 }],
  [{ properties, additionalProperties: false }],
  [{ properties, unevaluatedProperties: false }],
  // Nothing that follows can allow others.
  [{ properties, additionalProperties: false, anyOf: [{ required: ['style'] }, { required: ['size'] }] }],
])('all members are named: %j', (schema) => {
  expect([namesAllMembers(schema), namesNeededMembers(schema)]).toEqual([true, true]);
});

test.each([
  [{ properties, additionalProperties: true }],
  [{ properties, additionalProperties: { type: 'string' } }],
  [{ properties, additionalProperties: false, patternProperties: { '^x': {} } }],
  [{ properties, unevaluatedProperties: {} }],
  [{ properties, $ref: '#/$defs/more' }],
  [{ properties, $dynamicRef: '#more' }],
  [{ properties, anyOf: [{ properties: { topic: {} } }] }],
  [{ properties, unevaluatedProperties: false, allOf: [{ properties: { topic: {} } }] }],
  [{ properties, if: false, else: { required: ['topic'] } }],
  [{ properties, dependentSchemas: { style: { required: ['topic'] } } }],
])('there may be other members: %j', (schema) => {
  expect([namesAllMembers(schema), namesNeededMembers(schema)]).toEqual([false, true]);
});

test.each([
  [{ properties, required: ['topic'] }],
  [{ properties, required: ['toString'] }],
  [{ properties, dependentRequired: { style: ['topic'] } }],
  [{ properties, minProperties: 3 }],
  [{ required: ['topic'] }],
])('there must be other members: %j', (schema) => {
  expect([namesAllMembers(schema), namesNeededMembers(schema)]).toEqual([false, false]);
});
