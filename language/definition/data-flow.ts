/** `input`, `output`, `export` and their schemas, of the workflow and of tasks. */
import { jsonSchemaProblems } from '../schema/well-formed.ts';
import type { Checker } from './checker.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { at, own } from './problems.ts';
import { rawAddress } from './resources.ts';
import { checkAuthentication } from './reusable.ts';
import type { Place } from './scope.ts';
import { unsupported } from './support.ts';

export function checkInput(input: unknown, pointer: string, place: Place, checker: Checker): void {
  if (!isRecord(input)) return;
  checkSchema(input['schema'], at(pointer, 'schema'), checker);
  checker.transformation(input['from'], at(pointer, 'from'), place);
}

export function checkOutput(output: unknown, pointer: string, place: Place, checker: Checker): void {
  if (!isRecord(output)) return;
  checkSchema(output['schema'], at(pointer, 'schema'), checker);
  checker.transformation(output['as'], at(pointer, 'as'), place);
}

export function checkExport(
  exported: unknown,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
  hidden: readonly string[] = [],
): void {
  checkOutput(exported, pointer, { site: 'export', locals, secrets: 'refuse', hidden }, checker);
}

function checkSchema(schema: unknown, pointer: string, checker: Checker): void {
  if (!isRecord(schema)) return;
  const { format, document, resource } = schema;
  if (typeof format === 'string' && format !== 'json' && !format.startsWith('json:'))
    unsupported(checker, at(pointer, 'format'), 'schema.format');
  if (isRecord(resource)) checkExternalSchema(schema, pointer, checker);
  checkInlineSchema(document, at(pointer, 'document'), checker);
}

/** The definition that runs has the fetched schema as `document`. */
function checkExternalSchema(
  { format, resource }: Record<string, unknown>,
  pointer: string,
  checker: Checker,
): void {
  const place = at(pointer, 'resource');
  const endpoint = own(resource, 'endpoint');
  const uri = isRecord(endpoint) ? endpoint['uri'] : endpoint;
  const authentication = own(endpoint, 'authentication');
  // Whatever this place names is fetched, so a fetched function could send the secrets of others anywhere.
  if (
    authentication !== undefined &&
    checker.refuseFetched(at(place, 'endpoint', 'authentication'), 'a schema with an authentication')
  )
    return;
  checkAuthentication(authentication, at(place, 'endpoint', 'authentication'), [], checker);
  if (typeof uri !== 'string' || uri === '') return;
  const found = checker.resource({
    kind: 'schema',
    name: uri,
    url: rawAddress(uri),
    pointer: place,
    authentication,
  });
  if (found === undefined) return;
  const document = at(pointer, 'document');
  checker.problems.fold(document, place, found.url);
  if (!isRecord(found.document) && typeof found.document !== 'boolean')
    checker.problems.error(document, 'json_schema', 'is not a JSON Schema: it must be an object');
  else checkInlineSchema(found.document, document, checker);
  checker.rewrites.set(pointer, {
    ...(format === undefined ? {} : { format }),
    document: found.document,
  });
}

/** A JSON Schema 2020-12 in the definition. */
export function checkInlineSchema(document: unknown, pointer: string, checker: Checker): void {
  if (document === undefined || typeof document === 'boolean' || checker.problems.full) return;
  for (const found of jsonSchemaProblems(document, { warnings: !checker.problems.warned })) {
    const message = `not a valid JSON Schema: ${found.message}`;
    if (found.severity === 'warning')
      checker.problems.warning(`${pointer}${found.pointer}`, 'json_schema', found.message);
    else checker.problems.error(`${pointer}${found.pointer}`, 'json_schema', message);
  }
}
