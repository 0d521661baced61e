import { expect, test } from '@jest/globals';

import { shareFields } from '../../../api/openapi-variants.ts';

const text = { type: 'string' };
const object = (properties: object, required: string[], more: object = {}) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
  ...more,
});

test('forms of a record share the fields that all of them have in the same way', () => {
  const schemas = {
    Note: object({ id: text, body: text, tags: text }, ['id', 'body', 'tags']),
    ListedNote: object({ id: text, body: text, tags: { type: 'null' }, omitted: text }, ['id', 'omitted'], {
      variantOf: 'Note',
      description: 'A note in a list.',
    }),
    Other: object({ id: text }, ['id']),
  };
  expect(shareFields(schemas)).toEqual({
    NoteFields: { type: 'object', properties: { id: text }, required: ['id'] },
    Note: {
      type: 'object',
      allOf: [{ $ref: '#/components/schemas/NoteFields' }],
      properties: { body: text, tags: text },
      required: ['body', 'tags'],
      unevaluatedProperties: false,
    },
    ListedNote: {
      type: 'object',
      allOf: [{ $ref: '#/components/schemas/NoteFields' }],
      properties: { body: text, tags: { type: 'null' }, omitted: text },
      required: ['omitted'],
      description: 'A note in a list.',
      unevaluatedProperties: false,
    },
    Other: schemas.Other,
  });
});

test('a form of a record that is missing, or takes unknown fields, is a mistake', () => {
  const form = object({ id: text }, ['id'], { variantOf: 'Note' });
  expect(() => shareFields({ ListedNote: form })).toThrow('Note is not an object schema');
  const note = { type: 'object', properties: { id: text } };
  expect(() => shareFields({ Note: note, ListedNote: form })).toThrow('Note is not an object schema');
});
