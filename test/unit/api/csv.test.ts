/** Tables in CSV hold no formulas, whatever separator a spreadsheet reads them with. */
import { expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';

import { csvLine } from '../../../api/csv.ts';

test('texts are quoted where they have to be, and numbers stay numbers', () => {
  expect(csvLine(['plain', 'a b', 1, -2.5, null, ''])).toBe('plain,a b,1,-2.5,,\r\n');
  expect(csvLine(['a,b', 'a"b', 'a;b', 'a\tb', 'a\nb'])).toBe('"a,b","a""b","a;b","a\tb","a\nb"\r\n');
});

test('a minus or an equals sign within a text stays as it is', () => {
  expect(csvLine(['a-b', 'a=b', 'a; b', 'Mozilla/5.0 (X11; Linux)'])).toBe(
    'a-b,a=b,"a; b","Mozilla/5.0 (X11; Linux)"\r\n',
  );
});

/** As spreadsheets read lines: quotes count at the begin of a cell, and what follows the last is text. */
function cellsOf(text: string, separator: string): string[] {
  const cells: string[] = [];
  const isOver = (at: number) => at >= text.length || `${separator}\r\n`.includes(text.charAt(at));
  for (let at = 0; at <= text.length; at += 1) {
    const quoted = /^"((?:[^"]|"")*)"?/.exec(text.slice(at));
    let cell = quoted?.[1]?.replaceAll('""', '"') ?? '';
    for (at += quoted?.[0].length ?? 0; !isOver(at); at += 1) cell += text.charAt(at);
    cells.push(cell);
  }
  return cells;
}

test('the cells of this test are those of a spreadsheet', () => {
  expect(cellsOf('a,"b,""c""",d\n"e\nf"', ',')).toEqual(['a', 'b,"c"', 'd', 'e\nf']);
  expect(cellsOf('x,"a;""=1;"', ';')).toEqual(['x,"a', '=1', '']);
  expect(cellsOf('x,"a;""""=1;', ';')).toEqual(['x,"a', '"=1', '']);
  expect(cellsOf('x,"a;""=1', ',')).toEqual(['x', 'a;"=1']);
});

const SIGNS = ['=', '+', '-', '@'];
const BEFORE = [
  '',
  ';',
  'a;',
  'a;;',
  'a\t',
  'a\n',
  'a\r\n',
  'a\r',
  '";',
  '"\n',
  '\t',
  '\t;',
  ';"',
  'a;""',
  '\n"',
];
const HOSTILE = SIGNS.flatMap((sign) =>
  BEFORE.flatMap((before) =>
    ['', ';', '\n', '"'].map((after) => `${before}${sign}1+cmd|' /C calc'!A0${after}`),
  ),
);

test.each(HOSTILE)('%j is no formula, whatever splits the line', (text) => {
  for (const line of [csvLine([text]), csvLine(['x', text]), csvLine([text, text, 'y'])]) {
    const cells = [',', ';', '\t'].flatMap((separator) => cellsOf(line, separator));
    // Quotes that count nowhere, or are left out.
    const pieces = line.split(/[;\t\r\n]/).flatMap((piece) => [piece, piece.replaceAll('"', '')]);
    expect([...cells, ...pieces].filter((cell) => SIGNS.includes(cell.charAt(0)))).toEqual([]);
  }
});

test('a text comes back as it was but for the apostrophe', () => {
  const texts = ['a;b', 'a\tb', 'say "no"; then go', 'a,b', 'line\r\nline'];
  expect(parse(csvLine(texts))).toEqual([texts]);
  expect(parse(csvLine(['=1', 'a;=1']))).toEqual([["'=1", "a;'=1"]]);
});
