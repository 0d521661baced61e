import { describe, expect, test } from '@jest/globals';

import {
  controlId,
  drawnBy,
  fieldsOf,
  filledValue,
  firstEntries,
  groupEntry,
  problemsByField,
  problemWithin,
  shownField,
  type Entries,
  type Group,
  type Schema,
} from '../../../web/src/ui/schema-form/fields.ts';

const schema = {
  type: 'object',
  required: ['amount', 'reason'],
  properties: {
    amount: { type: 'number', title: 'Amount to refund', default: 5 },
    count: { type: 'integer' },
    reason: { enum: ['not_delivered', 7, null] },
    channel: { oneOf: [{ const: 'm', title: 'Mail' }, { const: 'p' }] },
    tell: { type: 'boolean', default: true },
    note: { type: 'string', maxLength: 5_000 },
    day: { type: 'string', format: 'date' },
    tags: { type: 'array', items: { enum: ['a', 'b', 'c'] }, default: ['b'] },
    'first/line': { type: 'object' },
  },
};

test('each property is a field of a fitting kind, with a label', () => {
  expect(fieldsOf(schema).map(({ name, label, kind, required }) => [name, label, kind, required])).toEqual([
    ['amount', 'Amount to refund', 'number', true],
    ['count', 'Count', 'integer', false],
    ['reason', 'Reason', 'choice', true],
    ['channel', 'Channel', 'choice', false],
    ['tell', 'Tell', 'boolean', false],
    ['note', 'Note', 'long-text', false],
    ['day', 'Day', 'date', false],
    ['tags', 'Tags', 'choices', false],
    ['first/line', 'First/line', 'json', false],
  ]);
});

test('only our own forms have controls of their own, and what these enter is as of their kind', () => {
  const Control = () => null;
  const ours = {
    person: drawnBy(Control, { type: 'string' }),
    people: drawnBy(Control, { type: 'array', items: { type: 'string' } }),
  };
  const drawn = (properties: object) => fieldsOf({ properties }).map(({ kind, control }) => [kind, control]);
  expect(drawn(ours)).toEqual([
    ['text', Control],
    ['lines', Control],
  ]);
  expect(drawn(JSON.parse(JSON.stringify(ours)))).toEqual([
    ['text', null],
    ['lines', null],
  ]);
  // As a form has it that shows a record.
  const shown = { people: { ...ours.people, default: ['ada', 'bob'] } };
  expect([drawn(shown), firstEntries({ properties: shown })]).toEqual([
    [['lines', Control]],
    { people: 'ada\nbob' },
  ]);
  expect(filledValue(fieldsOf({ properties: ours }), { person: 'ada', people: ' ada \n\nbob\n' })).toEqual({
    value: { person: 'ada', people: ['ada', 'bob'] },
    unreadable: [],
  });
});

test('a form starts with the defaults, and what is left empty is left out', () => {
  const entries = firstEntries(schema);
  expect(entries).toMatchObject({ amount: '5', reason: '', tell: true, tags: [1] });
  expect(filledValue(fieldsOf(schema), entries)).toEqual({
    value: { amount: 5, tell: true, tags: ['b'] },
    unreadable: [],
  });
});

test('what was entered becomes values of the right type', () => {
  const entered = {
    amount: '560.5',
    count: ' 3 ',
    reason: '1',
    channel: '0',
    tell: false,
    note: 'two\nlines',
    day: '2026-05-31',
    tags: [2, 0],
    'first/line': '{"x": 1}',
  };
  expect(filledValue(fieldsOf(schema), entered).value).toEqual({
    amount: 560.5,
    count: 3,
    reason: 7,
    channel: 'm',
    tell: false,
    note: 'two\nlines',
    day: '2026-05-31',
    tags: ['a', 'c'],
    'first/line': { x: 1 },
  });
});

test('what cannot be read is named by its pointer', () => {
  expect(filledValue(fieldsOf(schema), { amount: 'much', 'first/line': '{' }).unreadable).toEqual([
    { pointer: '/amount', message: 'must be a number' },
    { pointer: '/first~1line', message: expect.stringMatching(/^must be JSON: .+position 1/) },
  ]);
});

test('a problem belongs to its field, also deep inside, and each field shows one', () => {
  const { ofFields, others } = problemsByField(fieldsOf(schema), [
    { pointer: '/first~1line/deep/0', message: 'one' },
    { pointer: '/first~1line', message: 'two' },
    { pointer: '', message: 'three' },
    { pointer: '/amounts', message: 'four' },
  ]);
  expect([[...ofFields], others]).toEqual([[['/first~1line', 'one']], ['three', 'four']]);
});

test('a schema that describes no object has no fields', () => {
  for (const none of [null, undefined, {}, { type: 'string' }, { properties: [] }])
    expect(fieldsOf(none as never)).toEqual([]);
});

const address = {
  type: 'object',
  title: 'Address',
  required: ['street'],
  properties: {
    street: { type: 'string', title: 'Street' },
    number: { type: 'integer' },
    isHome: { type: 'boolean' },
    geo: { type: 'object', properties: { lat: { type: 'number' }, lon: { type: 'number' } } },
  },
};
const withAddress = (more: object = {}, required: string[] = []): Schema => ({
  type: 'object',
  required,
  properties: { address: { ...address, ...more } },
});

/** Entries of the form with some of those of its address changed. */
function entered(of: Schema, change: Entries): Entries {
  const [field] = fieldsOf(of) as [Group];
  const group = groupEntry(field, firstEntries(of)['address']);
  return { address: { ...group, entries: { ...group.entries, ...change } } };
}
const read = (of: Schema, change: Entries = {}) => filledValue(fieldsOf(of), entered(of, change)).value;

test('an object with named properties is a group of fields, to a depth of three', () => {
  const nested = (levels: number): Schema => ({
    type: 'object',
    properties: levels === 0 ? { end: { type: 'string' } } : { in: nested(levels - 1) },
  });
  const kinds = (fields: readonly { kind: string }[]): string[] =>
    fields.flatMap((field) => [field.kind, ...('fields' in field ? kinds((field as Group).fields) : [])]);
  expect(kinds(fieldsOf(nested(3)))).toEqual(['group', 'group', 'group', 'text']);
  expect(kinds(fieldsOf(nested(4)))).toEqual(['group', 'group', 'group', 'json']);
  expect(fieldsOf(withAddress())).toMatchObject([
    { kind: 'group', label: 'Address', fields: [{ name: 'street', required: true }, {}, {}, {}] },
  ]);
});

test('an object that may have or needs what its schema does not name is JSON text', () => {
  const open = [
    { additionalProperties: true },
    { unevaluatedProperties: { type: 'string' } },
    { patternProperties: { a: {} } },
    { anyOf: [{}] },
    { if: { required: ['number'] }, then: { required: ['floor'] } },
    { if: false, else: { required: ['floor'] } },
    { dependentSchemas: { number: { required: ['floor'] } } },
    { dependentRequired: { number: ['floor'] } },
    { required: ['street', 'floor'] },
    { minProperties: 5 },
  ];
  for (const one of open) expect(fieldsOf(withAddress(one))).toMatchObject([{ kind: 'json' }]);
  const closed = [
    { additionalProperties: false },
    { additionalProperties: false, anyOf: [{ required: ['number'] }, {}] },
    { unevaluatedProperties: false },
    { dependentRequired: { number: ['street'] } },
    { minProperties: 4 },
  ];
  for (const one of closed) expect(fieldsOf(withAddress(one))).toMatchObject([{ kind: 'group' }]);
});

test('a value that is no object is JSON text in place of the fields, and is sent as it was', () => {
  const of = withAddress({ default: 'High Street 7' });
  const [field] = fieldsOf(of) as [Group];
  const first = firstEntries(of);
  expect(first).toEqual({ address: '"High Street 7"' });
  expect(shownField(field, first['address'])).toMatchObject({ kind: 'json', label: 'Address' });
  expect(shownField(field, firstEntries(withAddress())['address'])).toBe(field);
  const send = (address: string) => filledValue([field], { address });
  expect(filledValue([field], first).value).toEqual({ address: 'High Street 7' });
  expect(send('{"street": "High Street"}').value).toEqual({ address: { street: 'High Street' } });
  expect(send(' ').value).toEqual({});
  expect(send('{').unreadable).toEqual([
    { pointer: '/address', message: expect.stringMatching(/^must be JSON: .+position 1/) },
  ]);
  // Its one field shows what is wrong anywhere in it.
  const { ofFields } = problemsByField([field], [{ pointer: '/address/street', message: 'is missing' }]);
  expect(problemWithin(ofFields, '/address')).toBe('is missing');
  // Inside an object too. Null is no object that anybody has left out by mistake.
  const inside = withAddress({ default: { street: 'a', geo: [1, 2] } });
  const { entries } = firstEntries(inside)['address'] as { entries: Entries };
  expect(JSON.parse(entries['geo'] as string)).toEqual([1, 2]);
  expect(read(inside, { geo: '{"lat": 1}' })).toEqual({ address: { street: 'a', geo: { lat: 1 } } });
  expect(firstEntries(withAddress({ default: null }))).toEqual(firstEntries(withAddress()));
});

test('ids of controls are valid, and no two fields share one or that of a note', () => {
  expect(controlId(controlId('form', 'address'), 'street_2')).toBe('form/address/street_2');
  const names = ['a', 'b', 'a-b', 'a/b', 'a~1b', 'a b', 'a:20:b', 'help', 'a-help', '', 'é', '\ud800'];
  const ids = names.flatMap((name) => {
    const outer = controlId('form', name);
    return [outer, `${outer}-help`, `${outer}-0`, ...names.map((inner) => controlId(outer, inner))];
  });
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => /[^\w/:-]/.test(id))).toEqual([]);
});

test('an optional group that is left empty is left out, a required one is sent', () => {
  expect(filledValue(fieldsOf(withAddress()), {}).value).toEqual({});
  expect(read(withAddress())).toEqual({});
  expect(read(withAddress({}, ['address']))).toEqual({ address: { isHome: false } });
  expect(read(withAddress(), { street: 'High Street', number: '7' })).toEqual({
    address: { street: 'High Street', number: 7, isHome: false },
  });
  expect(read(withAddress(), { number: '7' })).toEqual({ address: { number: 7, isHome: false } });
});

test('defaults inside a group make the object, unless it would lack something', () => {
  const { properties } = address;
  const withDefault = { ...properties, number: { type: 'integer', default: 1 } };
  expect(read(withAddress({ properties: withDefault }))).toEqual({});
  expect(read(withAddress({ properties: withDefault, required: [] }))).toEqual({
    address: { number: 1, isHome: false },
  });
});

test('what nobody has changed in an object stays exactly as it was', () => {
  const given = { street: ' ', number: 'x', unknown: [1], geo: { lat: 1, alt: 5 } };
  const of = withAddress({ default: given });
  expect(read(of)).toEqual({ address: given });
  expect(read(of, { street: 'Low Street' })).toEqual({ address: { ...given, street: 'Low Street' } });
  expect(read(of, { isHome: true })).toEqual({ address: { ...given, isHome: true } });
  expect(read(withAddress({ default: {} }))).toEqual({ address: {} });
  // Emptied, an optional object is gone.
  expect(read(withAddress({ default: { street: 'a' } }), { street: '' })).toEqual({});
});

test('problems inside a group belong to its innermost field', () => {
  const fields = fieldsOf(withAddress());
  const [{ fields: parts }] = fields as [Group];
  const geo = groupEntry(parts[3] as Group, undefined);
  const wrong = entered(withAddress(), { number: 'x', geo: { ...geo, entries: { lat: 'y', lon: '' } } });
  const { unreadable } = filledValue(fields, wrong);
  expect(unreadable).toEqual([
    { pointer: '/address/number', message: 'must be a number' },
    { pointer: '/address/geo/lat', message: 'must be a number' },
  ]);
  const { ofFields, others } = problemsByField(fields, [
    ...unreadable,
    { pointer: '/address/geo/alt', message: 'is unknown' },
    { pointer: '/address', message: 'is wrong' },
    { pointer: '/addresses', message: 'is elsewhere' },
  ]);
  expect([...ofFields]).toEqual([
    ['/address/number', 'must be a number'],
    ['/address/geo/lat', 'must be a number'],
    ['/address/geo', 'is unknown'],
    ['/address', 'is wrong'],
  ]);
  expect(others).toEqual(['is elsewhere']);
});

test('an object with a file_id is a file, whose reference is sent', () => {
  const file = { type: 'object', required: ['file_id'], properties: { file_id: { type: 'string' } } };
  const schema = {
    required: ['receipt'],
    properties: {
      receipt: file,
      page: { ...file, required: ['file_id', 'number'] },
    },
  };
  const fields = fieldsOf(schema);
  expect(fields.map(({ kind }) => kind)).toEqual(['file', 'json']);
  const send = (receipt: Entries[string]) => filledValue(fields, { receipt });
  const reference = { file_id: 'f1', name: 'a.pdf' };
  expect(send({ file: null })).toEqual({ value: {}, unreadable: [] });
  expect(send({ file: reference, name: 'a.pdf' }).value).toEqual({ receipt: reference });
  expect(send({ file: null, isUploading: true }).unreadable).toEqual([
    { pointer: '/receipt', message: 'is still being uploaded' },
  ]);
});

test('a file that a value has already stays, and what is no reference is shown as JSON', () => {
  const properties = { receipt: { type: 'object', properties: { file_id: { type: 'string' } } } };
  const withDefault = (value: unknown) => ({
    properties: { receipt: { ...properties.receipt, default: value } },
  });
  const sent = (value: unknown) => {
    const schema = withDefault(value);
    return filledValue(fieldsOf(schema), firstEntries(schema)).value;
  };
  const reference = { file_id: 'f1', name: 'a.pdf' };
  expect(sent(reference)).toEqual({ receipt: reference });
  expect(sent([1])).toEqual({ receipt: [1] });
  expect(filledValue(fieldsOf(withDefault(reference)), {}).value).toEqual({ receipt: reference });
});

describe('an array of files', () => {
  const file = { type: 'object', required: ['file_id'], properties: { file_id: { type: 'string' } } };
  const list = (more: object = {}, required: string[] = []): Schema => ({
    required,
    properties: { receipts: { type: 'array', items: file, ...more } },
  });
  const send = (of: Schema, receipts: Entries[string]) => filledValue(fieldsOf(of), { receipts });
  const [a, b] = [
    { file_id: 'f1', name: 'a.pdf' },
    { file_id: 'f2', name: 'b.pdf' },
  ];

  test('is a field for several files, as many as the schema and the server take', () => {
    const most = (of: Schema) => fieldsOf(of).map((field) => [field.kind, 'most' in field && field.most]);
    expect(most(list())).toEqual([['files', 50]]);
    expect(most(list({ maxItems: 3 }))).toEqual([['files', 3]]);
    expect(most(list({ maxItems: 300 }))).toEqual([['files', 50]]);
    for (const other of [
      { items: { ...file, required: ['file_id', 'page'] } },
      { items: true },
      { prefixItems: [file] },
    ])
      expect(fieldsOf(list(other)).map(({ kind }) => kind)).toEqual(['json']);
  });

  test('sends the references, and waits for what is on its way', () => {
    expect(send(list(), { files: [{ file: a, name: 'a.pdf' }, { file: b }] })).toEqual({
      value: { receipts: [a, b] },
      unreadable: [],
    });
    expect(send(list(), { files: [] }).value).toEqual({});
    expect(send(list({}, ['receipts']), { files: [] }).value).toEqual({ receipts: [] });
    expect(send(list(), { files: [{ file: a }], isUploading: true }).unreadable).toEqual([
      { pointer: '/receipts', message: 'is still being uploaded' },
    ]);
  });

  test('that is there already stays, and what are no references is shown as JSON', () => {
    const sent = (value: unknown) => {
      const of = list({ default: value });
      return [filledValue(fieldsOf(of), firstEntries(of)).value, filledValue(fieldsOf(of), {}).value];
    };
    expect(sent([a, b])).toEqual([{ receipts: [a, b] }, { receipts: [a, b] }]);
    expect(sent(['a.pdf'])[0]).toEqual({ receipts: ['a.pdf'] });
    expect(sent('a.pdf')[0]).toEqual({ receipts: 'a.pdf' });
    const of = list({ default: ['a.pdf'] });
    const [field] = fieldsOf(of);
    if (field === undefined) throw new Error('no field');
    expect(shownField(field, firstEntries(of)['receipts']).kind).toBe('json');
  });
});
