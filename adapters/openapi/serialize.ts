/**
 * Serializes parameter values for a URL, a header or a cookie: the styles of OpenAPI 3, and the
 * collectionFormat of 2.0.
 */
import { encodeUnreserved } from '../../language/uri-template.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { Parameter } from './operation.ts';
import { fieldsOf, textOf } from './document.ts';

type Encode = (text: string) => string;

const asItIs: Encode = (text) => text;
/** Keeps RFC 3986's reserved characters. */
const keepReserved: Encode = (text) =>
  encodeURI(text.toWellFormed()).replaceAll('%5B', '[').replaceAll('%5D', ']').replaceAll('#', '%23');

/** The text of one value; nested lists and objects are written as JSON. */
function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const isList = (value: unknown): value is unknown[] => Array.isArray(value);

interface Style {
  style: string;
  explode: boolean;
  /** `content` instead of a schema: the value is a JSON text. */
  json: boolean;
  reserved: boolean;
}

const DEFAULT_STYLES: Record<string, string> = {
  path: 'simple',
  header: 'simple',
  query: 'form',
  cookie: 'form',
};

function styleOf({ in: place, value }: Parameter): Style {
  const style = textOf(value, 'style') ?? DEFAULT_STYLES[place] ?? 'form';
  const explode = typeof value['explode'] === 'boolean' ? value['explode'] : style === 'form';
  return {
    style,
    explode,
    json: Object.keys(fieldsOf(value, 'content')).length > 0,
    reserved: value['allowReserved'] === true,
  };
}

/** The separators of 2.0's collectionFormat, except for `multi`. */
export const SEPARATORS: Record<string, string> = { csv: ',', ssv: ' ', tsv: '\t', pipes: '|' };

/** The text that replaces `{name}` in the path. */
export function pathText(parameter: Parameter, version: 2 | 3, value: unknown): string {
  const encode = encodeUnreserved;
  if (version === 2) return joined2(parameter, value, encode);
  const { style, explode, json } = styleOf(parameter);
  if (json) return encode(JSON.stringify(value));
  const { name } = parameter;
  if (style === 'label') {
    const items = isList(value)
      ? value.map((item) => encode(plain(item)))
      : isRecord(value)
        ? pairs(value, encode, explode ? '=' : ',')
        : [encode(plain(value))];
    return `.${items.join(explode ? '.' : ',')}`;
  }
  if (style === 'matrix') {
    if (isList(value))
      return explode
        ? value.map((item) => `;${name}=${encode(plain(item))}`).join('')
        : `;${name}=${value.map((item) => encode(plain(item))).join(',')}`;
    if (isRecord(value))
      return explode
        ? pairs(value, encode, '=')
            .map((pair) => `;${pair}`)
            .join('')
        : `;${name}=${pairs(value, encode, ',').join(',')}`;
    return `;${name}=${encode(plain(value))}`;
  }
  return simple(value, explode, encode);
}

export function headerText(parameter: Parameter, version: 2 | 3, value: unknown): string {
  if (version === 2) return joined2(parameter, value, asItIs);
  const { explode, json } = styleOf(parameter);
  return json ? JSON.stringify(value) : simple(value, explode, asItIs);
}

/** Encoded `name=value` pairs. */
export function queryPairs(parameter: Parameter, version: 2 | 3, value: unknown): string[] {
  const name = encodeUnreserved(parameter.name);
  if (version === 2) {
    if (textOf(parameter.value, 'collectionFormat') === 'multi' && isList(value))
      return value.map((item) => `${name}=${encodeUnreserved(plain(item))}`);
    return [`${name}=${joined2(parameter, value, encodeUnreserved)}`];
  }
  const { style, explode, json, reserved } = styleOf(parameter);
  const encode = reserved ? keepReserved : encodeUnreserved;
  if (json) return [`${name}=${encode(JSON.stringify(value))}`];
  if (style === 'deepObject' && isRecord(value)) return deep(parameter.name, value, encode);
  const separator = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ',';
  if (isList(value))
    return explode
      ? value.map((item) => `${name}=${encode(plain(item))}`)
      : [`${name}=${value.map((item) => encode(plain(item))).join(separator)}`];
  if (isRecord(value))
    return explode
      ? pairs(value, encode, '=')
      : [`${name}=${pairs(value, encode, separator).join(separator)}`];
  return [`${name}=${encode(plain(value))}`];
}

export function cookiePairs(parameter: Parameter, value: unknown): string[] {
  const { explode, json } = styleOf(parameter);
  const { name } = parameter;
  if (json) return [`${name}=${encodeUnreserved(JSON.stringify(value))}`];
  if (isRecord(value) && explode) return pairs(value, encodeUnreserved, '=');
  return [`${name}=${simple(value, false, encodeUnreserved)}`];
}

function simple(value: unknown, explode: boolean, encode: Encode): string {
  if (isList(value)) return value.map((item) => encode(plain(item))).join(',');
  if (isRecord(value)) return pairs(value, encode, explode ? '=' : ',').join(',');
  return encode(plain(value));
}

function pairs(value: Record<string, unknown>, encode: Encode, joint: string): string[] {
  return present(value).map(([key, item]) => `${encode(key)}${joint}${encode(plain(item))}`);
}

function deep(name: string, value: Record<string, unknown>, encode: Encode): string[] {
  return present(value).flatMap(([key, item]) => {
    const inner = `${name}[${key}]`;
    if (isRecord(item)) return deep(inner, item, encode);
    return (isList(item) ? item : [item]).map((each) => `${encodeUnreserved(inner)}=${encode(plain(each))}`);
  });
}

function joined2(parameter: Parameter, value: unknown, encode: Encode): string {
  if (!isList(value)) return encode(plain(value));
  const separator = SEPARATORS[textOf(parameter.value, 'collectionFormat') ?? 'csv'] ?? ',';
  return value.map((item) => encode(plain(item))).join(separator === ',' ? ',' : encode(separator));
}

function present(value: Record<string, unknown>): [string, unknown][] {
  return Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
}
