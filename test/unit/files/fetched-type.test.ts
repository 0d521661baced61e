import { expect, test } from '@jest/globals';
import { fetchedType } from '../../../domain/files/fetches.ts';

const any = ['*/*'];

test.each([
  ['image/png', 'image/png', 'image/png'],
  ['image/png', 'application/octet-stream', 'image/png'],
  ['image/png', null, 'image/png'],
  [null, 'image/png', 'image/png'],
  ['application/octet-stream', 'image/png', 'image/png'],
  [null, null, 'application/octet-stream'],
  [null, 'text/csv; charset=utf-8', 'text/csv; charset=utf-8'],
  ['audio/mp3', 'audio/mpeg', 'audio/mp3'],
  ['text/xml', 'application/xml', 'text/xml'],
  ['application/json', 'text/plain; charset=utf-8', 'application/json'],
  ['text/markdown', 'text/plain', 'text/markdown'],
])('a link declared as %s and served as %s is taken as %s', (declared, served, type) => {
  expect(fetchedType({ media_type: declared, accepts: any }, served, 'h')).toBe(type);
});

test.each([
  ['image/png', 'text/html', any],
  ['text/csv', 'text/html; charset=utf-8', any],
  ['image/png', 'application/pdf', any],
  ['image/png', 'text/plain', any],
  [null, 'application/pdf', ['image/*', 'text/plain']],
  [null, null, ['image/*']],
])('a link declared as %s, served as %s, is refused where %j is accepted', (declared, served, accepts) => {
  expect(() => fetchedType({ media_type: declared, accepts }, served, 'h')).toThrow(/^The file at h is /);
});
