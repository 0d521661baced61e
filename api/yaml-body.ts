/** Bodies of YAML, and definitions that are sent as text: docs/language.md. */
import { isRecord } from '../contracts/is-record.ts';
import { AppError, badRequest, invalid, type FieldError } from '../domain/errors.ts';
import type { WrittenDefinition } from '../domain/registry/workflow-service.ts';
import { MAX_YAML_CHARACTERS, readYaml, YamlError, type Place } from '../language/yaml/read-yaml.ts';

export interface YamlBody {
  text: string;
  /** The text is a definition, which the body has as `definition`. */
  isBare: boolean;
  /** Of a pointer into the body. */
  placeOf: (pointer: string) => Place;
}

const DEFINITION = '/definition';

/**
 * @param isNew a bare definition also names the record that it is for
 * @throws 400 with the place of the first mistake
 */
export function readYamlBody(
  text: string,
  { form, isNew }: { form: 'object' | 'definition'; isNew: boolean },
): { value: unknown; yaml: YamlBody } {
  try {
    const { value, placeOf } = readYaml(text);
    if (form === 'object' || !isDefinition(value)) return { value, yaml: { text, isBare: false, placeOf } };
    const { document } = value;
    // A changed definition does not rename its workflow.
    const name = isNew && isRecord(document) ? document['name'] : undefined;
    return {
      value: { ...(typeof name === 'string' ? { name } : {}), definition: value },
      yaml: { text, isBare: true, placeOf: (pointer) => placeOf(inDefinition(pointer)) },
    };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const { code, message, place } = error;
    const detail = `The body cannot be read as YAML: line ${place.line}, column ${place.column}: ${message}.`;
    throw badRequest(code, detail, [{ pointer: '', code, message, ...place }]);
  }
}

const isDefinition = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) &&
  !Object.hasOwn(value, 'definition') &&
  (Object.hasOwn(value, 'document') || Object.hasOwn(value, 'do'));

const inDefinition = (pointer: string): string =>
  pointer.startsWith(DEFINITION) ? pointer.slice(DEFINITION.length) : '/document/name';

/** The refusal of a body of YAML, with the place of each field. */
export function withPlaces(error: AppError, { placeOf }: Pick<YamlBody, 'placeOf'>): AppError {
  const { kind, code, detail, errors, extra, headers, keepsChanges } = error;
  if (errors === undefined) return error;
  return new AppError(kind, code, detail, {
    errors: errors.map((one) => ({ ...placeOf(one.pointer), ...one })),
    keepsChanges,
    ...(extra ? { extra } : {}),
    ...(headers ? { headers } : {}),
  });
}

/**
 * A definition as a client has sent it: an object, or the text of YAML or JSON.
 * @throws 422 with the place of the first mistake in the text
 */
export function writtenDefinition(
  given: Record<string, unknown> | string,
  yaml: YamlBody | null,
  pointer = DEFINITION,
): WrittenDefinition {
  if (typeof given === 'string') return readText(given, pointer);
  if (yaml === null) return { definition: given, source: null, placeOf: null };
  return {
    definition: given,
    source: yaml.isBare ? yaml.text : null,
    placeOf: (inner) => yaml.placeOf(`${pointer}${inner}`),
  };
}

function readText(source: string, pointer: string): WrittenDefinition {
  try {
    const { value, placeOf } = readYaml(source);
    if (isRecord(value)) return { definition: value, source, placeOf };
    throw invalid([{ pointer, code: 'invalid_type', message: 'must be an object, written as YAML or JSON' }]);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const { code, place } = error;
    const message = `line ${place.line}, column ${place.column}: ${error.message}`;
    throw invalid([{ pointer, code, message, ...place }]);
  }
}

/** @throws 422 if the texts of several definitions are too much for one request */
export function checkTexts(given: readonly unknown[], pointer: string): void {
  const characters = given.reduce<number>((sum, one) => sum + (typeof one === 'string' ? one.length : 0), 0);
  const message = `definitions as text may have at most ${MAX_YAML_CHARACTERS} characters in one request`;
  const error: FieldError = { pointer, code: 'yaml_too_large', message };
  if (characters > MAX_YAML_CHARACTERS) throw invalid([error]);
}
