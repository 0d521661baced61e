/** A data set as CSV, of which each row is a case: docs/evaluations.md#data-sets-as-csv. */
import { CsvError, parse, type Options } from 'csv-parse/sync';

import { isRecord } from '../../../contracts/is-record.ts';
import { parseJson } from '../../middleware/body.ts';

/** Of one row. */
const MAX_COLUMNS = 500;
const DELIMITERS = [',', ';', '\t'] as const;

/** The JSON Schemas of the agent's input and output; null: none. */
export interface CellSchemas {
  input: unknown;
  output: unknown;
}

/** What is wrong with the text, in a sentence. */
export class CsvProblem extends Error {}

interface Row {
  record: string[];
  info: { lines: number };
}

/**
 * @param most rows; the first one beyond is read, too, so that the caller sees that there are more
 * @returns cases as they would stand in JSON, with the line on which each ends
 * @throws CsvProblem
 */
export function readCsv(
  text: string,
  schemas: CellSchemas,
  most: number,
): { value: unknown; line: number }[] {
  const [header, ...rows] = rowsOf(text, most + 2);
  const columns = columnsOf(header?.record ?? []);
  return rows.map(({ record, info }) => ({ value: caseOf(columns, record, schemas), line: info.lines }));
}

function rowsOf(text: string, most: number): Row[] {
  const options: Options = {
    bom: true,
    delimiter: delimiterOf(text),
    info: true,
    skip_empty_lines: true,
    to: most,
    trim: false,
  };
  try {
    // Safe: with `info`, records are of this shape.
    return parse(text, options) as unknown as Row[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CsvProblem(`It is no CSV: ${error.message}.`);
  }
}

/** Spreadsheets of some countries write semicolons. */
function delimiterOf(text: string): string {
  const [header = ''] = text.replaceAll(/"[^"]*"/g, '').split(/\r?\n/, 1);
  const counts = DELIMITERS.map((one) => ({ one, count: header.split(one).length }));
  return counts.reduce((best, other) => (other.count > best.count ? other : best)).one;
}

/** Where the cells of a column go: a field of the case, or one of its input or expected output. */
interface Column {
  to: 'id' | 'weight' | 'input' | 'expected';
  /** Null: the whole. */
  field: string | null;
}

function columnsOf(names: readonly string[]): Column[] {
  if (names.length > MAX_COLUMNS) throw new CsvProblem(`It has more than ${MAX_COLUMNS} columns.`);
  const columns = names.map((name) => columnOf(name.trim()));
  if (columns.length === 0) throw new CsvProblem('It has no row with the names of its columns.');
  const same = names.findIndex((name, at) => names.findIndex((other) => other.trim() === name.trim()) < at);
  if (same >= 0) throw new CsvProblem(`It has two columns "${names[same]?.trim()}".`);
  for (const part of ['input', 'expected'] as const) {
    const own = columns.filter(({ to }) => to === part);
    if (own.length > 1 && own.some(({ field }) => field === null))
      throw new CsvProblem(`It has both a column "${part}" and columns of its fields.`);
  }
  return columns;
}

function columnOf(name: string): Column {
  if (name === '') throw new CsvProblem('The first row has a column without a name.');
  const [, part, field] = /^(input|expected)\.(.+)$/s.exec(name) ?? [];
  if (part !== undefined && field !== undefined)
    return { to: part === 'input' ? 'input' : 'expected', field };
  if (name === 'id' || name === 'weight' || name === 'input' || name === 'expected')
    return { to: name, field: null };
  return { to: 'input', field: name };
}

function caseOf(columns: readonly Column[], cells: readonly string[], schemas: CellSchemas): unknown {
  const found: Record<string, unknown> = {};
  const fields: Record<'input' | 'expected', [string, unknown][]> = { input: [], expected: [] };
  for (const [index, { to, field }] of columns.entries()) {
    const cell = cells[index] ?? '';
    if (cell === '') continue;
    if (to === 'id') found[to] = cell;
    else if (to === 'weight') found[to] = Number(cell);
    else {
      const schema = to === 'input' ? schemas.input : schemas.output;
      if (field === null) found[to] = valueOf(cell, schema);
      else fields[to].push([field, valueOf(cell, propertyOf(schema, field))]);
    }
  }
  for (const part of ['input', 'expected'] as const)
    if (fields[part].length > 0) found[part] = Object.fromEntries(fields[part]);
  return found;
}

function propertyOf(schema: unknown, field: string): unknown {
  const properties = isRecord(schema) ? schema['properties'] : null;
  return isRecord(properties) && Object.hasOwn(properties, field) ? properties[field] : null;
}

/** JSON if the cell is some, and its schema does not want a text. */
function valueOf(cell: string, schema: unknown): unknown {
  if (isRecord(schema) && schema['type'] === 'string') return cell;
  const text = cell.trim();
  if (!/^(?:[[{"]|-?\d|true$|false$|null$)/.test(text)) return cell;
  try {
    const value = parseJson(text);
    // A number such as that of an order is no longer itself.
    return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? cell
      : value;
  } catch {
    return cell;
  }
}
