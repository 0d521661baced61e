/** The import table of docs/architecture.md is in force: what it forbids fails in every folder, what it allows passes. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');

/** value: folders and packages to import values from; type: from which only types come. All other folders are forbidden. */
const table: Record<string, { value: string[]; type: string[]; not: string[] }> = {
  contracts: { value: ['expressions', 'zod'], type: [], not: ['pg', 'node:fs', '@temporalio/workflow', 'koa'] },
  expressions: { value: [], type: [], not: ['zod', 'node:fs', 'jq-wasm'] },
  config: { value: ['zod', 'pino'], type: [], not: ['koa', 'pg'] },
  db: { value: ['contracts', '@mikro-orm/postgresql', 'pg'], type: [], not: ['koa', '@temporalio/client'] },
  domain: { value: ['contracts', 'expressions', 'db', 'semver'], type: ['config'], not: ['koa', '@koa/router', 'undici', 'node:http', '@temporalio/client', '@temporalio/workflow'] },
  adapters: { value: ['contracts', 'expressions', 'undici', 'ai'], type: [], not: ['@temporalio/client', '@mikro-orm/core', 'pg', 'koa'] },
  activities: { value: ['contracts', 'expressions', 'domain', 'db', 'adapters', '@temporalio/activity'], type: ['config'], not: ['koa', '@temporalio/workflow', '@temporalio/worker'] },
  workflows: { value: ['contracts', 'expressions', '@temporalio/workflow'], type: ['activities'], not: ['node:fs', 'node:crypto', 'pg', '@temporalio/activity', '@temporalio/client', '@mikro-orm/core'] },
  temporal: { value: ['contracts', 'domain', 'config', '@temporalio/client'], type: [], not: ['koa', '@temporalio/worker'] },
  worker: { value: ['activities', 'db', 'domain', 'adapters', 'config', 'contracts', 'temporal', '@temporalio/worker'], type: [], not: ['koa', '@temporalio/workflow'] },
  api: { value: ['contracts', 'domain', 'db', 'config', 'temporal', 'koa', '@temporalio/client'], type: ['workflows'], not: ['@temporalio/worker', '@temporalio/workflow', '@temporalio/activity'] },
  web: { value: ['contracts'], type: [], not: [] },
  examples: { value: [], type: [], not: [] },
};
const folders = [...Object.keys(table), 'dev', 'test'];

type Case = { file: string; code: string; fails: boolean };

/** Any folder by its name as `../<folder>/…`, any package by its own. */
const specifier = (target: string) => (folders.includes(target) ? `../${target}/thing.ts` : target);
const nested = (target: string) => (folders.includes(target) ? `../../${target}/deep/thing.ts` : target);

function casesOf(folder: string): Case[] {
  const { value, type, not } = table[folder]!;
  const forbidden = [...folders.filter((other) => other !== folder && !value.includes(other) && !type.includes(other)), ...not];
  const cases: [string, string, boolean][] = [
    ...value.map((target): [string, string, boolean] => [`value-${target}`, `import { thing } from '${specifier(target)}';\nvoid thing;`, false]),
    ...type.flatMap((target): [string, string, boolean][] => [
      [`type-${target}`, `import type { Thing } from '${specifier(target)}';\nexport type Mine = Thing;`, false],
      [`value-of-type-${target}`, `import { thing } from '${specifier(target)}';\nvoid thing;`, true],
    ]),
    ...forbidden.flatMap((target): [string, string, boolean][] => [
      [`forbidden-${target}`, `import { thing } from '${specifier(target)}';\nvoid thing;`, true],
      [`forbidden-type-${target}`, `import type { Thing } from '${specifier(target)}';\nexport type Mine = Thing;`, true],
      [`forbidden-reexport-${target}`, `export { thing } from '${specifier(target)}';`, true],
      [`forbidden-dynamic-${target}`, `void import('${specifier(target)}');`, true],
      [`deep/forbidden-${target}`, `import { thing } from '${nested(target)}';\nvoid thing;`, true],
    ]),
    ['own', "import { thing } from './thing.ts';\nvoid thing;", false],
    ['deep/own', "import { thing } from '../thing.ts';\nvoid thing;", false],
  ];
  return cases.map(([name, code, fails]) => ({ file: `${folder}/${name.replaceAll(/[@:]|(?<!deep)\//g, '_')}.ts`, code, fails }));
}

const others: Record<string, Case> = {
  'the environment is read in config/env.ts': { file: 'config/env.ts', code: 'void process.env;', fails: false },
  'the environment is not read elsewhere': { file: 'api/reads-env.ts', code: "void process.env['HOME'];", fails: true },
  'not even in config/': { file: 'config/reads-env.ts', code: 'void process.env.HOME;', fails: true },
  'contracts/temporal.ts may use the workflow package': { file: 'contracts/temporal.ts', code: "import { defineSignal } from '@temporalio/workflow';\nvoid defineSignal;", fails: false },
  'adapters know the ports of the domain as types': { file: 'adapters/ports-type.ts', code: "import type { Thing } from '../domain/ports.ts';\nexport type Mine = Thing;", fails: false },
  'nested ones too': { file: 'adapters/llm/ports-type.ts', code: "import type { Thing } from '../../domain/ports.ts';\nexport type Mine = Thing;", fails: false },
  'adapters import no values of the ports': { file: 'adapters/ports-value.ts', code: "import { thing } from '../domain/ports.ts';\nvoid thing;", fails: true },
  'a promise may not float': { file: 'domain/floats.ts', code: 'const later = async (): Promise<void> => {};\nlater();', fails: true },
  'an awaited one passes': { file: 'domain/awaits.ts', code: 'const later = async (): Promise<void> => {};\nawait later();', fails: false },
  'one file of a cycle': { file: 'domain/cycle-a.ts', code: "import { b } from './cycle-b.ts';\nexport const a = (): unknown => b;", fails: true },
  'the other file of a cycle': { file: 'domain/cycle-b.ts', code: "import { a } from './cycle-a.ts';\nexport const b = (): unknown => a;", fails: true },
  'no default exports': { file: 'domain/default.ts', code: 'export default 1;', fails: true },
  'no printing': { file: 'domain/prints.ts', code: "console.log('x');", fails: true },
};

describe('the import table', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-lint-'));
  const all = [...Object.keys(table).flatMap(casesOf), ...Object.values(others)];
  let failed: Set<string>;

  beforeAll(() => {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const name of ['.oxlintrc.json', 'tsconfig.json', 'package.json']) cpSync(join(root, name), join(folder, name));
    for (const { file, code } of all) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), `${code}\n`);
    }
    const run = spawnSync(process.execPath, [join(root, 'node_modules/oxlint/bin/oxlint'), '--format', 'json'], { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 28 });
    const { diagnostics } = JSON.parse(run.stdout) as { diagnostics: { filename: string }[] };
    failed = new Set(diagnostics.map(({ filename }) => filename.replace(`${folder}/`, '')));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(Object.keys(table))('%s/', (name) => {
    const cases = casesOf(name);
    expect(cases.filter(({ file }) => failed.has(file)).map(({ file }) => file)).toEqual(cases.filter(({ fails }) => fails).map(({ file }) => file));
  });

  test.each(Object.entries(others))('%s', (_name, { file, fails }) => {
    expect(failed.has(file)).toBe(fails);
  });
});
