import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

import { readFunctionFile } from '../function-files.ts';

/** Generated columns and triggers need these; `migrate` applies the others after the migrations. */
const FUNCTIONS = ['semver_identifiers', 'semver_precedence', 'hitl_audit_refuse', 'notify_ended_call'];

/** A table comes after those that it refers to. */
const SUBJECTS = [
  'accounts',
  'agents',
  'workflows',
  'runs',
  'human-tasks',
  'files',
  'marketplace',
  'deliveries',
  'a2a',
  'installation',
];

/**
 * The first schema: the 38 migrations before it in one (docs/adr/0023). Columns that those had added stand at
 * the end of their tables, so a database that ran them has the same schema: see db/former-migrations.ts.
 */
export class Migration202611220850InitialSchema extends Migration {
  override up(): void {
    for (const name of FUNCTIONS) this.addSql(readFunctionFile(name).sql);
    for (const subject of SUBJECTS) this.addSql(readSubject(subject));
  }
}

function readSubject(name: string): string {
  return readFileSync(new URL(`./202611220850-initial-schema/${name}.sql`, import.meta.url), 'utf8');
}
