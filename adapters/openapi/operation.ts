/** Operations of OpenAPI 2.0 and 3.x documents. */
import { didYouMean } from '../../contracts/suggest.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { fault } from '../../contracts/fault.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import { fieldsOf, listOf, shown, textOf, type ApiDocument, type Fields } from './document.ts';
import { isExternal, partAt, type Load, type Part } from './references.ts';

export interface Parameter {
  name: string;
  in: string;
  required: boolean;
  value: Fields;
}

export interface Operation {
  id: string;
  version: 2 | 3;
  /** Lower case. */
  method: string;
  /** As in the document: `/pets/{id}`. */
  path: string;
  /** The server's absolute URL without a trailing slash. */
  base: string;
  parameters: Parameter[];
  /** 3.x only. */
  requestBody: Part | null;
  /** 2.0 only. */
  consumes: string[];
  document: ApiDocument;
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

/** Throws `Fault` (configuration) for another kind of document, an unknown operation, or a missing server. */
export async function findOperation(
  document: ApiDocument,
  operationId: string,
  load: Load,
): Promise<Operation> {
  versionOf(document);
  return describeOperation(document, operationId, await search(document, operationId, load), load);
}

/** What a call of an operation needs, once its place is known. Throws like `findOperation`. */
export async function describeOperation(
  document: ApiDocument,
  operationId: string,
  { path, method, item, operation }: FoundOperation,
  load: Load,
): Promise<Operation> {
  const version = versionOf(document);
  const parameters = new Map<string, Parameter>();
  // Parameters of the operation replace those of the path.
  for (const holder of [item, { value: operation, document: item.document }]) {
    for (const given of listOf(holder.value, 'parameters')) {
      const { value } = await partAt(given, holder.document, load);
      const parameter = {
        name: textOf(value, 'name') ?? '',
        in: textOf(value, 'in') ?? '',
        required: value['required'] === true || value['in'] === 'path',
        value,
      };
      parameters.set(`${parameter.in}:${parameter.name}`, parameter);
    }
  }
  const body =
    version === 3 && Object.hasOwn(operation, 'requestBody')
      ? await partAt(operation['requestBody'], item.document, load)
      : null;
  const consumes = listOf(
    Object.hasOwn(operation, 'consumes') ? operation : document.root,
    'consumes',
  ).filter((type) => typeof type === 'string');
  return {
    id: operationId,
    version,
    method,
    path,
    base:
      version === 2
        ? baseOf2(document, operation)
        : baseOf3(document, [operation, item.value, document.root]),
    parameters: [...parameters.values()],
    requestBody: body,
    consumes,
    document,
  };
}

function versionOf({ root, url }: ApiDocument): 2 | 3 {
  if (String(root['swagger']).startsWith('2.')) return 2;
  if (String(root['openapi']).startsWith('3.')) return 3;
  throw fault('configuration', `${shown(url)} is not an OpenAPI document of version 2.0 or 3.x`);
}

export interface FoundOperation {
  path: string;
  method: string;
  item: Part;
  operation: Fields;
}

async function search(document: ApiDocument, operationId: string, load: Load): Promise<FoundOperation> {
  const known: string[] = [];
  const paths = Object.entries(fieldsOf(document.root, 'paths'));
  // Search items in other documents only if this document does not have the operation.
  for (const [path, given] of [
    ...paths.filter(([, item]) => !isExternal(item)),
    ...paths.filter(([, item]) => isExternal(item)),
  ]) {
    const item = await partAt(given, document, load);
    for (const method of METHODS) {
      const operation = item.value[method];
      if (!isRecord(operation)) continue;
      const id = textOf(operation, 'operationId');
      if (id === operationId) return { path, method, item, operation };
      if (id !== undefined) known.push(id);
    }
  }
  const hint =
    didYouMean(operationId, known) ||
    (known.length === 0
      ? ': no operation in it has an id'
      : `; it has ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''}`);
  throw fault(
    'configuration',
    `${shown(document.url)} has no operation ${JSON.stringify(operationId)}${hint}`,
  );
}

function baseOf2({ root, url }: ApiDocument, operation: Fields): string {
  const from = new URL(url);
  const schemes = (
    Object.hasOwn(operation, 'schemes') ? listOf(operation, 'schemes') : listOf(root, 'schemes')
  ).filter((scheme) => scheme === 'https' || scheme === 'http');
  const scheme = schemes.includes('https') ? 'https' : (schemes[0] ?? from.protocol.slice(0, -1));
  const path = withoutEnd(textOf(root, 'basePath') ?? '', '/');
  const basePath = path === '' || path.startsWith('/') ? path : `/${path}`;
  return absolute(`${scheme}://${textOf(root, 'host') ?? from.host}${basePath}`, url);
}

/** The first server of the innermost level that has any, with its variables' defaults. */
function baseOf3({ url }: ApiDocument, holders: Fields[]): string {
  const servers = holders.map((holder) => listOf(holder, 'servers')).find((list) => list.length > 0) ?? [];
  const server = servers.find((each): each is Fields => isRecord(each)) ?? {};
  const variables = fieldsOf(server, 'variables');
  const address = (textOf(server, 'url') ?? '/').replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = fieldsOf(variables, name)['default'];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  });
  return absolute(address, url);
}

function absolute(address: string, from: string): string {
  if (!URL.canParse(address, from))
    throw fault('configuration', `${shown(from)} names a server without a valid URL: ${address}`);
  const { origin, pathname } = new URL(address, from);
  return withoutEnd(`${origin}${pathname}`, '/');
}
