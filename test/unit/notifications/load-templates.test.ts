/** The folder of NOTIFY_TEMPLATES: a wrong file stops the start with its name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

import { loadTemplates } from '../../../domain/notifications/load-templates.ts';
import { defaultTemplates } from '../../../domain/notifications/templates.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadenza-templates-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (file: string, content: string): void => writeFileSync(join(folder, file), content);

test('a file replaces its part of one mail, and the rest stays', () => {
  write('assigned.txt', 'For {{recipient}}: {{title}}');
  write('digest.subject.txt', '{{count}} things');
  const { assigned, digest, ...others } = loadTemplates(folder);
  const { assigned: ours, digest: ourDigest, ...rest } = defaultTemplates();
  expect(assigned).toEqual({ ...ours, text: 'For {{recipient}}: {{title}}' });
  expect(digest).toEqual({ ...ourDigest, subject: '{{count}} things' });
  expect(others).toEqual(rest);
  expect(loadTemplates(undefined)).toEqual(defaultTemplates());
});

test.each([
  ['reminders.txt', 'x', 'is not <name>.subject.txt'],
  ['assigned.md', 'x', 'is not <name>.subject.txt'],
  ['assigned.html', '<p>{{password}}</p>', '{{password}} is not one of'],
  ['assigned.txt', 'x'.repeat(65 * 1024), 'is over 64 KiB'],
])('%s is refused by its name', (file, content, reason) => {
  write(file, content);
  expect(() => loadTemplates(folder)).toThrow(`NOTIFY_TEMPLATES: ${file}`);
  expect(() => loadTemplates(folder)).toThrow(reason);
});

test('a folder that is not there is refused', () => {
  expect(() => loadTemplates(join(folder, 'none'))).toThrow('ENOENT');
});
