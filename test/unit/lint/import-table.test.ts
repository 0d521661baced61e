/**
 * The linter enforces the import table of docs/architecture.md: a forbidden import fails in every folder, an
 * allowed one passes.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');

/**
 * value: folders and packages whose values may be imported; type: those whose types may be imported. All
 * other folders are forbidden.
 */
const table: Record<string, { value: string[]; type: string[]; not: string[] }> = {
  contracts: {
    value: ['zod'],
    type: [],
    not: ['pg', 'node:fs', '@temporalio/workflow', 'koa'],
  },
  language: {
    value: ['contracts', 'zod'],
    type: [],
    not: ['pg', 'node:fs', '@temporalio/workflow', 'koa', 'jq-wasm'],
  },
  client: { value: [], type: [], not: ['zod', 'undici', 'node:fs', 'koa'] },
  cli: {
    value: ['client', 'contracts', 'language', '@stricli/core', 'yaml', 'node:fs'],
    type: [],
    not: ['zod', 'koa', 'pg', 'undici', '@temporalio/client'],
  },
  config: { value: ['contracts', 'zod', 'pino'], type: [], not: ['koa', 'pg'] },
  tracing: {
    value: ['contracts', '@opentelemetry/api'],
    type: ['config'],
    not: ['pg', 'koa', 'undici', '@temporalio/client'],
  },
  db: {
    value: ['contracts', '@mikro-orm/postgresql', 'pg'],
    type: ['language'],
    not: ['koa', '@temporalio/client'],
  },
  domain: {
    value: ['contracts', 'language', 'db', 'tracing', 'semver'],
    type: ['config'],
    not: [
      '@a2a-js/sdk',
      'koa',
      '@koa/router',
      'undici',
      'node:http',
      '@temporalio/client',
      '@temporalio/workflow',
    ],
  },
  adapters: {
    value: ['contracts', 'language', 'tracing', 'undici', 'ai'],
    type: [],
    not: ['@opentelemetry/api', '@temporalio/client', '@mikro-orm/core', 'pg', 'koa'],
  },
  activities: {
    value: ['contracts', 'language', 'domain', 'db', 'adapters', 'tracing', '@temporalio/activity'],
    type: ['config'],
    not: ['koa', '@temporalio/workflow', '@temporalio/worker'],
  },
  workflows: {
    value: ['contracts', 'language', '@temporalio/workflow'],
    type: ['activities'],
    not: ['node:fs', 'node:crypto', 'pg', '@temporalio/activity', '@temporalio/client', '@mikro-orm/core'],
  },
  temporal: {
    value: ['contracts', 'domain', 'config', '@temporalio/client', '@grpc/grpc-js'],
    type: [],
    not: ['koa', '@temporalio/worker'],
  },
  worker: {
    value: [
      'activities',
      'db',
      'domain',
      'adapters',
      'config',
      'contracts',
      'language',
      'temporal',
      'tracing',
      '@temporalio/worker',
    ],
    type: [],
    not: ['koa', '@temporalio/workflow'],
  },
  api: {
    value: [
      'contracts',
      'language',
      'domain',
      'db',
      'config',
      'temporal',
      'tracing',
      'koa',
      '@temporalio/client',
    ],
    type: ['workflows'],
    not: ['@temporalio/worker', '@temporalio/workflow', '@temporalio/activity'],
  },
  examples: { value: [], type: [], not: [] },
  web: {
    value: ['client', 'contracts', 'language', 'preact', '@preact/signals', '@tanstack/query-core'],
    type: [],
    not: ['node:fs', 'koa', 'zod', 'react', 'yaml', '@codemirror/view'],
  },
};
const folders = [...Object.keys(table), 'dev', 'test'];

type Case = { file: string; code: string; fails: boolean };

/** A folder is imported as `../<folder>/…`, a package by its name. */
const specifier = (target: string) => (folders.includes(target) ? `../${target}/thing.ts` : target);
const nested = (target: string) => (folders.includes(target) ? `../../${target}/deep/thing.ts` : target);

function casesOf(folder: string): Case[] {
  const { value, type, not } = table[folder]!;
  const forbidden = [
    ...folders.filter((other) => other !== folder && !value.includes(other) && !type.includes(other)),
    ...not,
  ];
  const cases: [string, string, boolean][] = [
    ...value.map((target): [string, string, boolean] => [
      `value-${target}`,
      `import { thing } from '${specifier(target)}';\nvoid thing;`,
      false,
    ]),
    ...type.flatMap((target): [string, string, boolean][] => [
      [
        `type-${target}`,
        `import type { Thing } from '${specifier(target)}';\nexport type Mine = Thing;`,
        false,
      ],
      [`value-of-type-${target}`, `import { thing } from '${specifier(target)}';\nvoid thing;`, true],
    ]),
    ...forbidden.flatMap((target): [string, string, boolean][] => [
      [`forbidden-${target}`, `import { thing } from '${specifier(target)}';\nvoid thing;`, true],
      [
        `forbidden-type-${target}`,
        `import type { Thing } from '${specifier(target)}';\nexport type Mine = Thing;`,
        true,
      ],
      [`forbidden-reexport-${target}`, `export { thing } from '${specifier(target)}';`, true],
      [`forbidden-dynamic-${target}`, `void import('${specifier(target)}');`, true],
      [`deep/forbidden-${target}`, `import { thing } from '${nested(target)}';\nvoid thing;`, true],
    ]),
    ['own', "import { thing } from './thing.ts';\nvoid thing;", false],
    ['deep/own', "import { thing } from '../thing.ts';\nvoid thing;", false],
  ];
  return cases.map(([name, code, fails]) => ({
    file: `${folder}/${name.replaceAll(/[@:]|(?<!deep)\//g, '_')}.ts`,
    code,
    fails,
  }));
}

const others: Record<string, Case> = {
  'YAML is read in its own folder': {
    file: 'language/yaml/reads.ts',
    code: "import { Lexer } from 'yaml';\nvoid Lexer;",
    fails: false,
  },
  'and nowhere else in language/, because workflow code imports the rest': {
    file: 'language/definition/reads.ts',
    code: "import { Lexer } from 'yaml';\nvoid Lexer;",
    fails: true,
  },
  'the environment is read in config/env.ts': {
    file: 'config/env.ts',
    code: 'void process.env;',
    fails: false,
  },
  'the environment is not read elsewhere': {
    file: 'api/reads-env.ts',
    code: "void process.env['HOME'];",
    fails: true,
  },
  'not even in config/': { file: 'config/reads-env.ts', code: 'void process.env.HOME;', fails: true },
  'contracts/temporal.ts may use the workflow package': {
    file: 'contracts/temporal.ts',
    code: "import { defineSignal } from '@temporalio/workflow';\nvoid defineSignal;",
    fails: false,
  },
  'adapters know the ports of the domain as types': {
    file: 'adapters/ports-type.ts',
    code: "import type { Thing } from '../domain/ports.ts';\nexport type Mine = Thing;",
    fails: false,
  },
  'nested ones too': {
    file: 'adapters/llm/ports-type.ts',
    code: "import type { Thing } from '../../domain/ports.ts';\nexport type Mine = Thing;",
    fails: false,
  },
  'adapters import no values of the ports': {
    file: 'adapters/ports-value.ts',
    code: "import { thing } from '../domain/ports.ts';\nvoid thing;",
    fails: true,
  },
  'the client runs outside Node.js too': {
    file: 'client/reads-env.ts',
    code: 'export const home = process.cwd();',
    fails: true,
  },
  'the client runs outside browsers too': {
    file: 'client/reads-page.ts',
    code: 'export const page: unknown = document;',
    fails: true,
  },
  'a promise may not float': {
    file: 'domain/floats.ts',
    code: 'const later = async (): Promise<void> => {};\nlater();',
    fails: true,
  },
  'an awaited one passes': {
    file: 'domain/awaits.ts',
    code: 'const later = async (): Promise<void> => {};\nawait later();',
    fails: false,
  },
  'one file of a cycle': {
    file: 'domain/cycle-a.ts',
    code: "import { b } from './cycle-b.ts';\nexport const a = (): unknown => b;",
    fails: true,
  },
  'the other file of a cycle': {
    file: 'domain/cycle-b.ts',
    code: "import { a } from './cycle-a.ts';\nexport const b = (): unknown => a;",
    fails: true,
  },
  'a function of 60 lines passes': {
    file: 'workflows/sixty-lines.ts',
    code: `export function long(step: () => void): void {\n${'  step();\n'.repeat(58)}}`,
    fails: false,
  },
  'a function of 61 lines': {
    file: 'workflows/more-lines.ts',
    code: `export function long(step: () => void): void {\n${'  step();\n'.repeat(59)}}`,
    fails: true,
  },
  'no default exports': { file: 'domain/default.ts', code: 'export default 1;', fails: true },
  'the editor of the console may use CodeMirror': {
    file: 'web/src/screens/editor/code.ts',
    code: "import { EditorView } from '@codemirror/view';\nvoid EditorView;",
    fails: false,
  },
  'and read YAML': {
    file: 'web/src/screens/editor/text.ts',
    code: "import { parse } from 'yaml';\nvoid parse;",
    fails: false,
  },
  'but no server code': {
    file: 'web/src/screens/editor/server.ts',
    code: "import { thing } from '../../../../api/thing.ts';\nvoid thing;",
    fails: true,
  },
  'no printing': { file: 'domain/prints.ts', code: "console.log('x');", fails: true },
};

describe('the import table', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-lint-'));
  const all = [...Object.keys(table).flatMap(casesOf), ...Object.values(others)];
  let failed: Set<string>;

  beforeAll(() => {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const name of ['.oxlintrc.json', 'tsconfig.json', 'package.json'])
      cpSync(join(root, name), join(folder, name));
    for (const { file, code } of all) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), `${code}\n`);
    }
    const run = spawnSync(
      process.execPath,
      [join(root, 'node_modules/oxlint/bin/oxlint'), '--format', 'json'],
      { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 28 },
    );
    const { diagnostics } = JSON.parse(run.stdout) as { diagnostics: { filename: string }[] };
    failed = new Set(diagnostics.map(({ filename }) => filename.replace(`${folder}/`, '')));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(Object.keys(table))('is enforced in %s/', (name) => {
    const cases = casesOf(name);
    expect(cases.filter(({ file }) => failed.has(file)).map(({ file }) => file)).toEqual(
      cases.filter(({ fails }) => fails).map(({ file }) => file),
    );
  });

  test.each(Object.entries(others))('is complemented by a rule: %s', (_name, { file, fails }) => {
    expect(failed.has(file)).toBe(fails);
  });
});
