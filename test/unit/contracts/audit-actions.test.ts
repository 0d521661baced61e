/** The list of actions that are no operation has those that the code writes, and so has the documentation. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import { OPERATIONS } from '../../../client/index.ts';
import { OTHER_ACTIONS } from '../../../contracts/audit-actions.ts';

const root = join(import.meta.dirname, '../../..');
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

test('what is written to the log under a name of its own is in the list', () => {
  const writers = globSync('{api,domain,dev}/**/*.ts', { cwd: root })
    .map(textOf)
    .filter((text) => /\/write\.ts'|auditAction|c\.audit\.|AuditTrail|_ACTION = /.test(text));
  const written = writers.flatMap((text) =>
    [...text.matchAll(/(?:\baction: |\bauditAction: |_ACTION = |\bLOG_IN = )'(\w+)'/g)].map(
      ([, name = '']) => name,
    ),
  );
  expect(written).toEqual(
    expect.arrayContaining([
      'log_in',
      'log_out',
      'a2a_set_push',
      'audit_prune',
      'restore_backup',
      'cancelRun',
    ]),
  );
  const known = new Set([...OTHER_ACTIONS, ...Object.keys(OPERATIONS)]);
  expect([...new Set(written)].filter((name) => !known.has(name))).toEqual([]);
});

test('the documentation names each of them, and none is the name of an operation', () => {
  const text = textOf('docs/audit.md');
  const undocumented = OTHER_ACTIONS.filter(
    (name) => !name.endsWith('_group') && !text.includes(`\`${name}\``),
  );
  expect(undocumented).toEqual([]);
  expect(OTHER_ACTIONS.filter((name) => Object.hasOwn(OPERATIONS, name))).toEqual([]);
});
