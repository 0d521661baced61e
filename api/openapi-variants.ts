/**
 * Records with several forms (whole, in a list, as just created) share their fields in the document. A form
 * names the component that it is a form of: `.meta({ id: 'ListedAgent', variantOf: 'Agent' })`.
 */
import { isDeepStrictEqual } from 'node:util';

import type { Json } from './openapi-schemas.ts';

interface ObjectSchema extends Json {
  properties: Record<string, Json>;
  required?: string[];
  additionalProperties?: unknown;
  variantOf?: string;
}

/**
 * Moves the fields that all forms of a record have into one more component, `<Record>Fields`. Sorts the
 * components by name.
 */
export function shareFields(schemas: Record<string, Json>): Record<string, Json> {
  const result = { ...schemas };
  const families = new Map<string, string[]>();
  for (const [name, { variantOf }] of Object.entries(schemas)) {
    if (typeof variantOf === 'string')
      families.set(variantOf, [...(families.get(variantOf) ?? [variantOf]), name]);
  }
  for (const [record, names] of families) {
    const forms = names.map((name) => objectSchema(name, schemas[name]));
    const base = commonFields(forms);
    const ref = `#/components/schemas/${record}Fields`;
    result[`${record}Fields`] = base;
    for (const [index, name] of names.entries()) result[name] = extended(forms[index] ?? base, base, ref);
  }
  return Object.fromEntries(Object.entries(result).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function objectSchema(name: string, schema: Json | undefined): ObjectSchema {
  // A form refuses unknown fields by `unevaluatedProperties`, which sees those of the shared component.
  if (schema?.['additionalProperties'] !== false)
    throw new Error(`${name} is not an object schema that refuses unknown fields`);
  return schema as ObjectSchema;
}

function commonFields(forms: readonly ObjectSchema[]): ObjectSchema {
  const [first, ...others] = forms;
  const isRequired = (key: string, form?: ObjectSchema) => form?.required?.includes(key) ?? false;
  const properties = Object.fromEntries(
    Object.entries(first?.properties ?? {}).filter(([key, field]) =>
      others.every(
        (form) =>
          isDeepStrictEqual(form.properties[key], field) && isRequired(key, form) === isRequired(key, first),
      ),
    ),
  );
  const required = first?.required?.filter((key) => key in properties) ?? [];
  return { type: 'object', properties, required };
}

function extended(form: ObjectSchema, base: ObjectSchema, ref: string): Json {
  const { type, properties, required = [], additionalProperties: _, variantOf: _record, ...rest } = form;
  const own = Object.entries(properties).filter(([key]) => !(key in base.properties));
  const ownRequired = required.filter((key) => !base.required?.includes(key));
  return {
    ...rest,
    type,
    allOf: [{ $ref: ref }],
    ...(own.length > 0 ? { properties: Object.fromEntries(own) } : {}),
    ...(ownRequired.length > 0 ? { required: ownRequired } : {}),
    unevaluatedProperties: false,
  };
}
