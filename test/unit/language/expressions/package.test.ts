import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';

const root = join(import.meta.dirname, '../../../../language/expressions');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

test('the folder imports nothing from outside', () => {
  expect(files.length).toBeGreaterThan(20);
  for (const name of files) {
    for (const [, target = ''] of readFileSync(join(root, name), 'utf8').matchAll(/from '([^']+)'/g)) {
      expect({
        name,
        target,
        inside: /^\.{1,2}\//.test(target) && join(root, name, '..', target).startsWith(root),
      }).toEqual({ name, target, inside: true });
    }
  }
});

test('the code reads neither clock, chance, locale nor environment of the host', () => {
  const forbidden = new RegExp(
    [
      String.raw`\b(?:Date\.now|new Date\(|Math\.random|Intl\b`,
      "toLocale(?!String')",
      String.raw`localeCompare|process\.|globalThis|performance\.|setTimeout`,
      String.raw`require\(|eval\()`,
    ].join('|'),
  );
  for (const name of files) {
    const code = readFileSync(join(root, name), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect({ name, found: forbidden.exec(code)?.[0] ?? null }).toEqual({ name, found: null });
  }
});

test('a minified bundle is smaller than 150 KB', () => {
  let bytes = 0;
  for (const name of files) {
    const { code } = transformSync(readFileSync(join(root, name), 'utf8'), {
      filename: name,
      minify: true,
      jsc: { parser: { syntax: 'typescript' }, target: 'es2024', minify: { compress: true, mangle: true } },
    });
    bytes += Buffer.byteLength(code);
  }
  expect(bytes).toBeLessThan(150_000);
  expect(bytes).toBeGreaterThan(20_000);
});
