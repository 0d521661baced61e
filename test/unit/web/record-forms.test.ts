/** Forms of records: what they send, and where their problems belong. */
import { beforeAll, expect, test } from '@jest/globals';

import {
  patchOf,
  problemsOfSection,
  readSections,
  sectionEntries,
  showable,
  type Section,
} from '../../../web/src/ui/form-sections.ts';
import type { GroupEntry } from '../../../web/src/ui/schema-form/fields.ts';
import { loadCheck } from '../../../web/src/ui/schema-form/form-check.ts';

beforeAll(loadCheck);

const sections: Section[] = [
  {
    id: 'record',
    member: '',
    values: { name: 'editor', description: 'old', kept: 1 },
    schema: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', title: 'Name' },
        description: { type: 'string', title: 'Description' },
        tags: { type: 'array', items: { type: 'string' }, title: 'Tags' },
      },
    },
  },
  {
    id: 'call',
    member: 'configuration',
    values: { model: 'small', own_key: true },
    schema: {
      type: 'object',
      properties: {
        model: { type: 'string', title: 'Model' },
        temperature: { type: 'number', minimum: 0, title: 'Temperature' },
      },
    },
  },
];

test('a form starts with what the record has, and sends it in its members', () => {
  const [record, call] = sections as [Section, Section];
  expect(sectionEntries(record, {})).toEqual({ name: 'editor', description: 'old', tags: '' });
  const entered = {
    record: { ...sectionEntries(record, {}), description: '', tags: 'one\n\n two ' },
    call: { ...sectionEntries(call, {}), temperature: '0.5' },
  };
  expect(readSections(sections, entered)).toEqual({
    // What was emptied is cleared, and a key without a field is kept.
    body: {
      name: 'editor',
      description: null,
      tags: ['one', 'two'],
      configuration: { model: 'small', own_key: true, temperature: 0.5 },
    },
    problems: [],
  });
});

test('a list without entries stays a list', () => {
  const schema = { type: 'object', properties: { groups: { type: 'array', items: { type: 'string' } } } };
  const section = (groups: string[]): Section => ({ id: 'user', member: '', values: { groups }, schema });
  expect(readSections([section([])], {}).body).toEqual({ groups: [] });
  expect(readSections([section(['one'])], { user: { groups: '' } }).body).toEqual({ groups: [] });
});

test('problems name the body, and are shown at their fields', () => {
  const entered = { record: { name: '' }, call: { model: 'small', temperature: '-1' } };
  const { problems } = readSections(sections, entered);
  expect(problems).toEqual([
    { pointer: '/name', message: 'Name is missing' },
    { pointer: '/configuration/temperature', message: 'Temperature must be at least 0' },
  ]);
  const more = [...problems, { pointer: '/owner', message: 'is not yours' }];
  const { ofSections, others } = problemsOfSection(sections, more);
  expect([...(ofSections.get('record') ?? [])]).toEqual([['/name', 'Name is missing']]);
  expect([...(ofSections.get('call') ?? [])]).toEqual([['/temperature', 'Temperature must be at least 0']]);
  expect(others).toEqual(['/owner: is not yours']);
});

test('an object of the record is a group: both ends of a span, or none', () => {
  const clock = (title: string) => ({ type: 'string', title, pattern: '^..:..$', examples: ['22:00'] });
  const schema = {
    type: 'object',
    properties: {
      quiet: {
        type: 'object',
        title: 'Quiet hours',
        required: ['from', 'to'],
        properties: { from: clock('From'), to: clock('Until') },
      },
    },
  };
  const section = (quiet: object | null): Section => ({ id: 'a', member: '', values: { quiet }, schema });
  const enter = (quiet: object | null, change: Record<string, string>) => {
    const first = sectionEntries(section(quiet), {})['quiet'] as GroupEntry;
    const entries = { ...first.entries, ...change };
    return readSections([section(quiet)], { a: { quiet: { ...first, entries } } });
  };
  const given = { from: '22:00', to: '07:00' };
  expect(enter(null, {})).toEqual({ body: {}, problems: [] });
  expect(enter(given, {})).toEqual({ body: { quiet: given }, problems: [] });
  expect(enter(given, { from: '23:00' }).body).toEqual({ quiet: { from: '23:00', to: '07:00' } });
  expect(enter(given, { from: '', to: '' })).toEqual({ body: { quiet: null }, problems: [] });
  expect(enter(null, { from: '10pm' }).problems).toEqual([
    { pointer: '/quiet/to', message: 'Until in Quiet hours is missing' },
    { pointer: '/quiet/from', message: 'From in Quiet hours must have a format such as 22:00' },
  ]);
});

test('a value that a field cannot show leaves the form and stays in the record', () => {
  const schema = { type: 'object', properties: { timeout: { type: 'string' }, model: { type: 'string' } } };
  const shown = showable(schema, { timeout: { seconds: 30 }, model: 'small' });
  expect(shown['properties']).toEqual({ model: { type: 'string' } });
  const section = {
    id: 'call',
    member: 'configuration',
    values: { timeout: { seconds: 30 } },
    schema: shown,
  };
  expect(readSections([section], { call: { model: 'large' } }).body).toEqual({
    configuration: { timeout: { seconds: 30 }, model: 'large' },
  });
});

test('a patch has what differs, and null for what is gone', () => {
  const record = { name: 'a', tags: ['x'], configuration: { b: { c: 1, d: 2 }, e: 3 }, url: null };
  expect(patchOf({ name: 'a', tags: ['x'], configuration: { e: 3, b: { d: 2, c: 1 } } }, record)).toEqual({});
  expect(patchOf({ name: 'b', url: 'u', configuration: { b: { c: 5 } } }, record)).toEqual({
    name: 'b',
    url: 'u',
    configuration: { b: { c: 5, d: null }, e: null },
  });
});
