/** Which operations of the API, and which fields of their requests, the text of a program does not name. */

export interface SourceFile {
  /** With `/`, such as `web/src/data/api.ts`. */
  path: string;
  text: string;
}

type Schema = Record<string, any>;

export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, unknown>;
}

interface Operation {
  operationId?: string;
  parameters?: Schema[];
  requestBody?: Schema;
}

/** Fields in fields are asked for to this depth: what is deeper is entered as JSON. */
const MAX_DEPTH = 3;

export interface Coverage {
  operations: string[];
  /** Ids of operations that no file calls, and whose address no file has. */
  unused: string[];
  /** `operation.field` of the operations in use: parameters of the query and members of the body. */
  fields: string[];
  /** Those that no file near the call names. */
  unnamed: string[];
}

export function coverageOf(document: Document, sources: readonly SourceFile[]): Coverage {
  const files = new Map(sources.map(({ path, text }) => [path, codeOf(text)]));
  const neighbours = neighboursOf(files);
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const { operationId: id } = operation;
      return id === undefined ? [] : [{ id, link: method === 'get' ? path : null, operation }];
    }),
  );
  const unused: string[] = [];
  const fields: string[] = [];
  const unnamed: string[] = [];
  for (const { id, link, operation } of all) {
    const users = [...files].flatMap(([file, text]) => (calls(text, id, link) ? [file] : []));
    if (users.length === 0) {
      unused.push(id);
      continue;
    }
    const namesIn = (steps: number, of: (path: string) => string) =>
      new Set(
        [...nearOf(users, neighbours, steps)]
          .map(of)
          .join('\n')
          .match(/[\w$]+/g),
      );
    // Texts name many things that no request has.
    const near = namesIn(1, (file) => (isText(file) ? '' : (files.get(file) ?? '').replaceAll(TEXT, '')));
    const wide = namesIn(2, (file) => files.get(file) ?? '');
    for (const field of fieldsOf(operation, document)) {
      fields.push(`${id}.${field}`);
      // What is inside a field is often drawn by a part that several forms share.
      const names = field.includes('.') ? wide : near;
      if (!names.has(field.split('.').at(-1) ?? '')) unnamed.push(`${id}.${field}`);
    }
  }
  return { operations: all.map(({ id }) => id), unused, fields, unnamed };
}

/** `words.columns.status`. */
const TEXT = /\b(?:\w+W|w)ords(?:\.\w+)+/g;

function isText(path: string): boolean {
  return path.endsWith('words.ts');
}

/** Without comments, and without questions whether the user may do something. */
function codeOf(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/\bmayCall\w*\(\s*'\w+'/g, '');
}

/** By its id, or in a link by its address: `/files/${encodeURIComponent(id)}`. */
function calls(text: string, id: string, path: string | null): boolean {
  if (text.includes(`'${id}'`)) return true;
  if (path === null) return false;
  const escaped = path
    .split(/\{\w+\}/)
    .map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  return path.length > 1 && new RegExp(`["'\`]${escaped.join(String.raw`\$\{[^}]+\}`)}["'\`?]`).test(text);
}

/** The files of the call, what they import, and what uses them; with two steps also what all these import. */
function nearOf(users: readonly string[], { imports, importers }: Neighbours, steps: number): Set<string> {
  const near = new Set(users);
  for (let step = 0; step < steps; step++) {
    const imported = [...near].flatMap((file) => [...(imports.get(file) ?? [])]);
    for (const file of imported) near.add(file);
    for (const file of users) for (const one of importers.get(file) ?? []) near.add(one);
  }
  return near;
}

interface Neighbours {
  imports: Map<string, Set<string>>;
  importers: Map<string, Set<string>>;
}

function neighboursOf(files: ReadonlyMap<string, string>): Neighbours {
  const [imports, importers] = [1, 2].map(
    () => new Map([...files.keys()].map((file) => [file, new Set<string>()])),
  ) as [Neighbours['imports'], Neighbours['importers']];
  for (const [file, text] of files)
    for (const [, target = ''] of text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)) {
      const imported = new URL(target, `file:///${file}`).pathname.slice(1);
      if (!files.has(imported)) continue;
      imports.get(file)?.add(imported);
      importers.get(imported)?.add(file);
    }
  return { imports, importers };
}

function fieldsOf({ parameters = [], requestBody }: Operation, document: Document): Set<string> {
  const query = parameters.map((one) => resolved(one, document)).filter((one) => one['in'] === 'query');
  const body: Schema = requestBody === undefined ? {} : resolved(requestBody, document);
  const schemas = Object.values<Schema>(body['content'] ?? {}).map(({ schema }) => schema);
  return new Set([
    ...query.map(({ name }) => String(name)),
    ...schemas.flatMap((schema) => membersOf(schema, document, MAX_DEPTH)),
  ]);
}

/** Dotted names of an object's members, also of objects in lists. */
function membersOf(given: Schema | undefined, document: Document, depth: number): string[] {
  if (given === undefined || depth === 0) return [];
  const schema = resolved(given, document);
  const parts: Schema[] = [
    ...(schema['anyOf'] ?? []),
    ...(schema['oneOf'] ?? []),
    ...(schema['allOf'] ?? []),
  ];
  return [
    ...Object.entries<Schema>(schema['properties'] ?? {}).flatMap(([name, member]) => [
      name,
      ...membersOf(member, document, depth - 1).map((inner) => `${name}.${inner}`),
    ]),
    ...parts.flatMap((part) => membersOf(part, document, depth)),
    ...membersOf(schema['items'], document, depth),
  ];
}

function resolved(given: Schema, document: Document): Schema {
  if (typeof given['$ref'] !== 'string') return given;
  const keys = given['$ref'].split('/').slice(1);
  const found = keys.reduce<any>((at, key) => at?.[key], document);
  if (found === undefined) throw new Error(`there is no ${given['$ref']}`);
  return resolved(found, document);
}
