import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { toMermaid } from '../../../../api/diagram/mermaid.ts';
import { toSvg } from '../../../../api/diagram/svg.ts';
import { validateDefinition } from '../../../../language/definition/validate.ts';
import { correct, type Loose } from './correct.ts';

/** Every place in a value, as a list of keys. */
function places(value: Loose, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => places(item, [...path, key]))];
}

const all = places(correct()).filter((path) => path.length > 0);
const words = fc.constantFrom(
  'do',
  'call',
  'with',
  'then',
  'catch',
  'each',
  '${ .a',
  '${ $x }',
  '$',
  'end',
  'exit',
  'fetch',
  'PT1S',
  '',
  '__proto__',
  'constructor',
  '\u0000',
  '\uD800',
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    words,
    fc.jsonValue({ maxDepth: 2 }),
    fc.dictionary(words, tie('value'), { maxKeys: 4 }),
    fc.array(tie('value'), { maxLength: 4 }),
  ),
})).value;

function change(
  definition: Loose,
  path: readonly string[],
  how: 'replace' | 'remove' | 'rename' | 'copy',
  value: unknown,
): void {
  const owner = path.slice(0, -1).reduce((current, key) => current?.[key], definition);
  const key = path.at(-1) ?? '';
  if (typeof owner !== 'object' || owner === null || !(key in owner)) return;
  if (how === 'replace') owner[key] = value;
  else if (how === 'remove') delete owner[key];
  else if (how === 'copy' && Array.isArray(owner)) owner.push(owner[Number(key)]);
  else {
    owner[`${key}x`] = owner[key];
    delete owner[key];
  }
}

/** The longest part of the pointer that leads somewhere. */
function resolves(definition: unknown, pointer: string): boolean {
  if (pointer === '') return true;
  const tokens = pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  let current: Loose = definition;
  for (const token of tokens.slice(0, -1)) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, token)) return false;
    current = current[token];
  }
  return typeof current === 'object' && current !== null;
}

const edits = fc.array(
  fc.tuple(
    fc.constantFrom(...all),
    fc.constantFrom('replace' as const, 'remove' as const, 'rename' as const, 'copy' as const),
    json,
  ),
  { minLength: 1, maxLength: 4 },
);

test('any change gives a result whose pointers resolve, and a diagram', () => {
  fc.assert(
    fc.property(edits, (given) => {
      const definition = correct();
      for (const [path, how, value] of given) change(definition, path, how, value);
      const before = JSON.stringify(definition);
      const result = validateDefinition(definition, { name: 'n' });
      expect(JSON.stringify(definition)).toBe(before);
      expect(result.valid).toBe(!result.problems.some(({ severity }) => severity === 'error'));
      for (const { pointer, message } of result.problems) {
        expect(message).not.toMatch(/undefined|\[object|Invalid input/);
        // A document that is completed is not in what was given.
        expect([pointer, resolves(result.definition, pointer)]).toEqual([pointer, true]);
      }
      expect(validateDefinition(result.definition).problems).toEqual(result.problems);
      toMermaid(definition);
      toSvg(definition);
    }),
    { numRuns: 1500, seed: 20260801 },
  );
});

test('any JSON gets a result', () => {
  fc.assert(
    fc.property(json, (value) => expect(typeof validateDefinition(value).valid).toBe('boolean')),
    { numRuns: 1000, seed: 7 },
  );
});
