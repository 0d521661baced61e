/** Which words of a text are a person's name, and what replaces them. */
import { expect, test } from '@jest/globals';
import fc from 'fast-check';

import { createNameFinder, type NameFinder } from '../../../domain/privacy/name-finder.ts';
import { nameTest, spellings, wordParts } from '../../../domain/privacy/name-pattern.ts';
import { sqlPattern, type NameKind, type SoughtName } from '../../../domain/privacy/names.ts';
import { threadClock } from '../../support/machine.ts';

const replacements = { username: 'erased-1', email: 'erased-1@erased.invalid', display_name: 'Erased user' };

function finderOf(names: Partial<Record<NameKind, string>>, others: string[] = []): NameFinder {
  // The keys are those of the type.
  const sought = Object.entries(names).map(([kind, text]) => ({ kind, text }) as SoughtName);
  return createNameFinder({ names: sought, others, onlyReported: new Set(), treatments: [] }, replacements);
}

const replaced = (finder: NameFinder, text: string): string => finder.readText(text).value;

test('a name is a whole word in upper or lower case, and no part of another word', () => {
  const finder = finderOf({ username: 'ann' });
  expect(replaced(finder, 'Ann, ANN! (ann) @ann ann_2 ann.pdf /home/ann/x')).toBe(
    'erased-1, erased-1! (erased-1) @erased-1 erased-1_2 erased-1.pdf /home/erased-1/x',
  );
  for (const text of ['Annette', 'Joann', 'ann2', '2ann', 'annä', 'äann', 'ann\u0301']) {
    expect(finder.readText(text)).toEqual({ value: text, found: 0, left: 0 });
  }
});

test('longer names come first, and those of other people stay', () => {
  const finder = finderOf({ username: 'ann', email: 'ann@x.example', display_name: 'Ann Lee' }, [
    'ann.lee',
    'Ann Lee-Smith',
    'ann@y.example',
  ]);
  expect(replaced(finder, 'Ann Lee (ann, ann@x.example)')).toBe(
    'Erased user (erased-1, erased-1@erased.invalid)',
  );
  for (const text of ['ann.lee wrote', 'by Ann Lee-Smith', 'to ann@y.example'])
    expect(replaced(finder, text)).toBe(text);
  expect(replaced(finder, 'Ann\n  Lee')).toBe('Erased user');
});

test('signs of patterns mean themselves', () => {
  for (const name of [
    'a.b*c',
    'x+y',
    '100%',
    'a_b',
    String.raw`back\slash`,
    "O'Neil",
    '$& $1',
    '[a-z]',
    '^a|b$',
  ]) {
    const finder = finderOf({ username: name });
    expect(replaced(finder, `by ${name}, and`)).toBe('by erased-1, and');
    expect(finder.readText('by aXbbc xxy 100x aXb backslash ONeil q ab').found).toBe(0);
  }
});

test('letters of all scripts have two cases, and two ways to be written', () => {
  expect(replaced(finderOf({ display_name: 'Иван Петров' }), 'от ИВАНА, ИВАН ПЕТРОВ')).toBe(
    'от ИВАНА, Erased user',
  );
  const composed = 'Ren\u00e9e';
  for (const text of [composed, composed.normalize('NFD'), composed.toUpperCase()])
    expect(replaced(finderOf({ display_name: composed }), `by ${text}.`)).toBe('by Erased user.');
  // Scripts without spaces have no words to be parts of.
  expect(replaced(finderOf({ display_name: '山田太郎' }), '担当は山田太郎さん')).toBe(
    '担当はErased userさん',
  );
});

test('in JSON, texts and people’s own names of fields change, those of records do not', () => {
  const finder = finderOf({ username: 'ann' });
  const value = { ann: 1, ANN: 2, list: ['ann', 3, null, { by: 'Ann' }], deep: { text: 'first\nann' } };
  expect(finder.readJson(value, true)).toEqual({
    value: {
      'erased-1': 1,
      'erased-1 (2)': 2,
      list: ['erased-1', 3, null, { by: 'erased-1' }],
      deep: { text: 'first\nerased-1' },
    },
    found: 5,
    left: 0,
  });
  expect(finder.readJson({ ann: 'ann' }, false)).toEqual({ value: { ann: 'erased-1' }, found: 1, left: 0 });
  expect(finder.readJson(JSON.parse('{"__proto__": "ann"}'), true).value).toEqual(
    JSON.parse('{"__proto__": "erased-1"}'),
  );
});

test('JSON within a text is read as well, however it is escaped', () => {
  const finder = finderOf({ display_name: 'Zoë "Z" Ray' });
  const inner = JSON.stringify({ note: 'from\nZoë "Z" Ray' });
  expect(replaced(finder, inner)).toBe(String.raw`{"note":"from\nErased user"}`);
  expect(replaced(finder, JSON.stringify(inner))).toContain('nErased user');
  expect(replaced(finder, String.raw`{"note": "Zo\u00eb \"Z\" Ray"}`)).toBe('{"note": "Erased user"}');
});

test('a name that is only reported is found and stays', () => {
  const sought = { names: [{ kind: 'username', text: 'ann' }] as SoughtName[], others: [] };
  const finder = createNameFinder({ ...sought, onlyReported: new Set(['username']), treatments: [] }, {});
  expect(finder.readText('ann and ann')).toEqual({ value: 'ann and ann', found: 2, left: 2 });
});

test('the pattern for the database has no characters of a name that mean something else', () => {
  expect(sqlPattern([{ kind: 'username', text: 'a.b%_2' }])).toBe(String.raw`[aA]\.[bB]\%\_2`);
  expect(sqlPattern([{ kind: 'username', text: '王' }])).toBe(String.raw`(?:王|(?:\\+u[0-9a-fA-F]{4}){1})`);
});

test('no name and no text of anybody takes long', () => {
  const many = (text: string, times = 40): string => text.repeat(times);
  const names = [
    String.raw`ann${many('\\')}x`,
    String.raw`ann${many('\\"')}x`,
    String.raw`ann${many('\\/')}x`,
    String.raw`ann${many(' \\ ')}x`,
    `ann${many(' "')}x`,
    `ann${many('\\é')}x`,
    `${many('"é')}ann`,
    `é${many(' é')}`,
  ];
  const texts = ['\\', '\\\\\\\\"', '\\\\/', '\\n', '\\u00e9', ' ', '\\n\\\\ ', '"'].map(
    (part) => `ann${many(part, 20_000)} é ann`,
  );
  const begun = performance.now();
  for (const name of names) {
    for (const finder of [finderOf({ display_name: name }), finderOf({ username: 'ann' }, [name])])
      for (const text of texts) finder.readText(text);
  }
  expect(performance.now() - begun).toBeLessThan(15_000);
  for (const name of names) {
    for (const text of [name, name.toUpperCase()])
      expect([name, replaced(finderOf({ display_name: name }), `by ${text}, and`)]).toEqual([
        name,
        'by Erased user, and',
      ]);
    expect(replaced(finderOf({ username: 'ann' }, [name]), `by ${name}, and`)).toBe(`by ${name}, and`);
    const inner = JSON.stringify({ note: name });
    if (!name.includes(' \\')) expect(finderOf({ display_name: name }).readText(inner).found).toBe(1);
  }
});

test('fields of one name are told apart in a moment, however many there are', () => {
  const spelled = (number: number): string =>
    Array.from('abcdefghijklmnop', (letter, bit) =>
      (number >> bit) & 1 ? letter.toUpperCase() : letter,
    ).join('');
  const value = Object.fromEntries(Array.from({ length: 30_000 }, (_, number) => [spelled(number), number]));
  const begun = performance.now();
  const { found, value: read } = finderOf({ username: 'abcdefghijklmnop' }).readJson(value, true);
  expect(performance.now() - begun).toBeLessThan(5_000);
  expect([found, Object.values(read as object)]).toEqual([30_000, Object.values(value)]);
});

test('what JSON can hold is read, however deep it is', () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(3_000)}"ann"${'}'.repeat(3_000)}`);
  expect(finderOf({ username: 'ann' }).readJson(deep, true).found).toBe(1);
});

test('ids stay whole', () => {
  const text = '018f3a4b-cafe-7abc-beef-0123456789ab';
  const finder = finderOf({ username: 'cafe', display_name: '018f3a4b', email: `${text}@x.example` });
  expect(replaced(finder, `file ${text}, cafe, 018f3a4b, ${text}@x.example`)).toBe(
    `file ${text}, erased-1, Erased user, erased-1@erased.invalid`,
  );
});

test('names that share their beginnings are found as if each were tried by itself, the longest first', () => {
  const word = fc.array(fc.constantFrom('a', 'A', 'b', 'é', 'É', '.', ' ', '-', '\\', '山'), {
    minLength: 1,
    maxLength: 6,
  });
  const name = word.map((characters) => characters.join('').trim()).filter((text) => text !== '');
  const text = fc
    .array(fc.oneof(name, fc.constantFrom(' ', ', ', '/', '@')), { maxLength: 8 })
    .map((parts) => parts.join(''));
  const uses = fc.record({ username: name, others: fc.array(name, { maxLength: 6 }), text });
  fc.assert(
    fc.property(uses, ({ username, others, text: given }) => {
      // As `soughtNames` leaves them: none is the name itself, and longer ones come first.
      const { isSame } = nameTest(username);
      const longer = others.filter((other) => !isSame(other));
      const all = [...longer.map((one) => [one, false] as const), [username, true] as const]
        .flatMap(([one, isOwn]) => spellings(one).map((spelling) => ({ spelling, isOwn })))
        .toSorted((one, other) => other.spelling.length - one.spelling.length);
      const each = all.map(({ spelling, isOwn }) => `${wordParts(spelling).join('')}${isOwn ? '()' : ''}`);
      const expected = given.replace(new RegExp(each.join('|'), 'giu'), (match, ...groups) =>
        groups.slice(0, all.filter(({ isOwn }) => isOwn).length).includes('') ? 'erased-1' : match,
      );
      expect(replaced(finderOf({ username }, longer), given)).toBe(expected);
    }),
    { numRuns: 150 },
  );
});

test('thousands of similar names of others cost a text little', () => {
  const others = Array.from({ length: 3_000 }, (_, n) => `Ann Lee ${n}`);
  const finder = finderOf({ display_name: 'Ann Lee' }, others);
  const text = 'Ann Lee 7 asked Ann Lee, and Ann Lee 2999 did not. '.repeat(20);
  finder.readText(text);
  const used = threadClock();
  for (let n = 0; n < 200; n += 1) expect(finder.readText(text).found).toBe(20);
  expect(used()).toBeLessThan(2_000);
});
