import { expect, test } from '@jest/globals';

import { queryOf, scopeOf } from '../../../web/src/screens/workflows/workflow-list.ts';
import { partAt } from '../../../web/src/screens/workflow/part-at.ts';
import { editorAddress, routeOf, workflowAddress } from '../../../web/src/app/routes.ts';

test('the address chooses what the list asks for', () => {
  expect(scopeOf('mine')).toBe('mine');
  expect(scopeOf('nonsense')).toBe('all');
  expect(queryOf('mine', 'x', 'u1')).toEqual({ owner_id: 'u1', q: 'x' });
  expect(queryOf('public', '', 'u1')).toEqual({ visibility: 'public' });
  expect(queryOf('all', '', 'u1')).toEqual({});
});

test('workflows and their editor have addresses', () => {
  expect(routeOf('/console/workflows')).toEqual({ screen: 'workflows' });
  expect(routeOf(workflowAddress('w1'))).toEqual({ screen: 'workflow', id: 'w1' });
  expect(routeOf(editorAddress('w1'))).toEqual({ screen: 'editor', id: 'w1' });
  expect(routeOf(editorAddress(null))).toEqual({ screen: 'editor', id: null });
  expect(routeOf('/console/workflows/w1/nothing')).toEqual({ screen: 'unknown' });
  expect(routeOf('/console/workflows/w1/edit/more')).toEqual({ screen: 'unknown' });
});

test('a pointer names a part of the definition', () => {
  const definition = { do: [{ 'a/b': { set: 1 } }] };
  expect(partAt(definition, '/do/0/a~1b')).toEqual({ set: 1 });
  expect(partAt(definition, '')).toBe(definition);
  for (const pointer of ['/do/1', '/do/length/x', '/constructor'])
    expect(partAt(definition, pointer)).toBeUndefined();
});
