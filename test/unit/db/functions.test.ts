import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';

import { UNDECIDED } from '../../../contracts/hitl.ts';
import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import { LIVE_STATUSES, TERMINAL_STATUSES, UNFINISHED_TASK_STATUSES } from '../../../contracts/run-events.ts';
import { digestOf, readFunctionFile, readFunctionFiles } from '../../../db/function-files.ts';
import { functionsDigest } from '../../../db/functions/version.ts';
import { migrationNames } from '../../../db/migrations/index.ts';

const files = readFunctionFiles();

/** At least three words in a row of the log texts. */
const LOG_WORDS = Object.values(LOG_TEXT)
  .flatMap((text) => (typeof text === 'function' ? [text] : Object.values(text)))
  .flatMap((text) => String(text).match(/[A-Za-z]+(?: [a-z]+){2,}/g) ?? []);

test.each(files)('$name.sql creates or replaces the function of this name, and does nothing else', (file) => {
  const statement = /^(?:--.*\n)+create or replace function (\w+)\([\s\S]*? as \$\$\n[\s\S]*?\$\$;\n$/;
  expect(statement.exec(file.sql)?.[1]).toBe(file.name);
  expect(file.sql.split('$$')).toHaveLength(3);
});

test('the version of the functions is that of these files; else run `npm run schema`', () => {
  expect(digestOf(files)).toBe(functionsDigest);
});

test('the statuses that functions know are those of the contracts', () => {
  const statusesIn = (name: string): string[] => readFunctionFile(name).sql.match(/(?<=')\w+(?=')/g) ?? [];
  expect(statusesIn('run_is_over')).toEqual(TERMINAL_STATUSES);
  expect(statusesIn('run_is_live')).toEqual(LIVE_STATUSES);
  expect(statusesIn('run_task_is_unfinished')).toEqual(UNFINISHED_TASK_STATUSES);
  expect(statusesIn('human_task_is_undecided')).toEqual(UNDECIDED);
});

test('no event type, no A2A state and no sentence stands in a function or in a later migration', () => {
  const sources = [...files.map(({ sql }) => sql), ...laterMigrations()];
  expect(sources.length).toBeGreaterThan(files.length);
  expect(sources.flatMap(rulesIn)).toEqual([]);
});

test('the search finds event types, A2A states and sentences, and ignores comments and formats', () => {
  expect(rulesIn(`-- The run's 'io.cadenza.x.v1'.\nselect 'YYYY-MM', 'a b'`)).toEqual([]);
  expect(rulesIn(`case type when 'io.cadenza.child.created.v1' then 'a' end`)).toHaveLength(1);
  expect(rulesIn(`state = 'TASK_STATE_FAILED'`)).toHaveLength(1);
  expect(rulesIn(`'Decisions: ' || ids`)).toHaveLength(1);
  expect(rulesIn(`message || ' waits for a person: '`)).toHaveLength(1);
});

/** Migrations after the initial schema, which holds no texts. */
function laterMigrations(): string[] {
  const folder = new URL('../../../db/migrations/', import.meta.url);
  const initial = String(migrationNames[0]);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|sql)$/.test(file) && file !== 'index.ts' && !file.startsWith(initial))
    .map((file) => readFileSync(new URL(file, folder), 'utf8'));
}

/** Literals with the name of an event type or an A2A state, a sentence, or words of a log text. */
function rulesIn(source: string): string[] {
  const code = source.replaceAll(/--.*|^\s*(?:\/?\*|\/\/).*$/gm, '');
  const literals = code.match(/'[^'\n]*'/g) ?? [];
  return literals.filter(
    (text) =>
      /^'io\.|TASK_STATE_|ROLE_|^'[A-Z][a-z]+:? /.test(text) ||
      LOG_WORDS.some((words) => text.includes(words)),
  );
}
