/** SCIM filters (RFC 7644 section 3.4.2.2) as conditions of SQL. */
import { parse, type Compare, type Filter } from 'scim2-parse-filter';

import { utcTime } from '../../contracts/instant.ts';
import { escapeLike } from '../../db/sql.ts';
import { ScimError } from './errors.ts';

const MAX_FILTER_LENGTH = 2_000;
const MAX_DEPTH = 10;

/** An attribute that filters may name, in lower case. */
export interface Attribute {
  /** An SQL expression. */
  sql: string;
  type: 'text' | 'exact' | 'boolean' | 'time';
  /** Another condition that holds for a value that the attribute equals. */
  equals?: (value: string) => Condition;
  /** Holds for all whose attribute equals a value, and more, and finds them by index. */
  among?: (value: string) => Condition;
}

export interface Condition {
  sql: string;
  values: unknown[];
}

/** @throws ScimError `invalidFilter` */
export function compileFilter(text: string, attributes: ReadonlyMap<string, Attribute>): Condition {
  if (text.length > MAX_FILTER_LENGTH)
    throw invalidFilter(`it has more than ${MAX_FILTER_LENGTH} characters`);
  return compile(parsed(text), attributes, '', 0);
}

/** Line breaks in texts would make the library's tokenizer backtrack without bound. @throws ScimError */
export function parsed(text: string): Filter {
  if (/\p{Cc}/u.test(text)) throw invalidFilter('it has a control character');
  try {
    return parse(text);
  } catch {
    throw invalidFilter('it cannot be read');
  }
}

function compile(
  filter: Filter,
  attributes: ReadonlyMap<string, Attribute>,
  prefix: string,
  depth: number,
): Condition {
  if (depth > MAX_DEPTH) throw invalidFilter('it is nested too deeply');
  const inner = (part: Filter, within = prefix): Condition => compile(part, attributes, within, depth + 1);
  switch (filter.op) {
    case 'and':
    case 'or': {
      const parts = filter.filters.map((part) => inner(part));
      return {
        sql: `(${parts.map(({ sql }) => sql).join(` ${filter.op} `)})`,
        values: parts.flatMap(({ values }) => values),
      };
    }
    case 'not': {
      const { sql, values } = inner(filter.filter);
      return { sql: `not coalesce(${sql}, false)`, values };
    }
    case '[]':
      return inner(filter.valFilter, `${prefix}${filter.attrPath}.`);
    case 'pr':
      return { sql: `(${attributeOf(prefix + filter.attrPath, attributes).sql}) is not null`, values: [] };
    default:
      return compare(filter, attributeOf(prefix + filter.attrPath, attributes));
  }
}

function attributeOf(path: string, attributes: ReadonlyMap<string, Attribute>): Attribute {
  const name = path.toLowerCase().replace(/^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/, '');
  const found = attributes.get(name);
  if (!found) throw invalidFilter('it names an attribute that cannot be filtered by');
  return found;
}

const ORDER = { gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

function compare({ op, compValue }: Compare, { sql, type, equals, among }: Attribute): Condition {
  if (compValue === null) return { sql: `(${sql}) is ${op === 'ne' ? 'not ' : ''}null`, values: [] };
  if (type === 'boolean') return compareBoolean(op, compValue, sql);
  const text = String(compValue);
  if (type === 'time') {
    const time = utcTime(text);
    if (time === null) throw invalidFilter('a time is not RFC 3339, or not in the years 1 to 9999');
    const operator =
      op === 'eq' ? '=' : op === 'ne' ? '<>' : op in ORDER ? ORDER[op as keyof typeof ORDER] : null;
    if (operator === null) throw invalidFilter(`${op} does not compare times`);
    return { sql: `${sql} ${operator} ?::timestamptz`, values: [time] };
  }
  const [left, right] = type === 'text' ? [`lower(${sql})`, 'lower(?)'] : [`(${sql})::text`, '?'];
  switch (op) {
    case 'eq': {
      const same = either({ sql: `${left} = ${right}`, values: [text] }, equals?.(text));
      const some = among?.(text);
      if (some === undefined) return same;
      return { sql: `(${some.sql} and ${same.sql})`, values: [...some.values, ...same.values] };
    }
    case 'ne': {
      const same = either({ sql: `${left} = ${right}`, values: [text] }, equals?.(text));
      return { sql: `(${same.sql}) is not true`, values: same.values };
    }
    case 'co':
      return { sql: `${left} like ${right}`, values: [`%${escapeLike(text)}%`] };
    case 'sw':
      return { sql: `${left} like ${right}`, values: [`${escapeLike(text)}%`] };
    case 'ew':
      return { sql: `${left} like ${right}`, values: [`%${escapeLike(text)}`] };
    default:
      return { sql: `${left} ${ORDER[op]} ${right}`, values: [text] };
  }
}

function either(one: Condition, other: Condition | undefined): Condition {
  if (other === undefined) return one;
  return { sql: `(${one.sql} or ${other.sql})`, values: [...one.values, ...other.values] };
}

/** Entra sends booleans as texts. */
function compareBoolean(op: Compare['op'], value: unknown, sql: string): Condition {
  const wanted = /^(?:true|false)$/i.test(String(value)) ? String(value).toLowerCase() === 'true' : null;
  if (wanted === null || (op !== 'eq' && op !== 'ne'))
    throw invalidFilter('a boolean is eq or ne true or false');
  return { sql: `(${sql}) = ?`, values: [op === 'eq' ? wanted : !wanted] };
}

function invalidFilter(why: string): ScimError {
  return new ScimError(400, `The filter cannot be used: ${why}.`, 'invalidFilter');
}
