/**
 * One check of a value against a JSON Schema 2020-12: applicator keywords, and the tracking of evaluated
 * parts.
 */
import { Budget } from './budget.ts';
import { checkArrayParts } from './check-arrays.ts';
import { checkObjectParts } from './check-objects.ts';
import { checkPlain } from './check-plain.ts';
import { list, type Checking, type Evaluated, type Mismatch } from './checking.ts';
import {
  findResources,
  isObject,
  isSchema,
  own,
  resolveReference,
  type Resource,
  type Resources,
  type Schema,
  type SchemaObject,
} from './resources.ts';

const MAX_VIOLATIONS = 20;
export interface Violation {
  /** JSON pointer into the value. */
  pointer: string;
  message: string;
  /** Omitted if the schema itself cannot be followed. */
  mismatch?: Mismatch;
}

/** A schema that refers to itself without consuming part of the value would never end. */
const MAX_NESTING = 600;
export const CHECK_STEPS = 20_000_000;

const known = new WeakMap<SchemaObject, Resources>();

export function resourcesOf(schema: SchemaObject): Resources {
  let resources = known.get(schema);
  if (!resources) {
    resources = findResources(schema);
    known.set(schema, resources);
  }
  return resources;
}

export class Check implements Checking {
  readonly budget: Budget;
  readonly found: Violation[] = [];
  readonly #resources: Resources;
  /** Dynamic scope for `$dynamicRef`, outermost first. */
  readonly #scope: Resource[];
  #silent = 0;
  #nesting = 0;

  constructor(resources: Resources, steps: number) {
    this.budget = new Budget(steps);
    this.#resources = resources;
    this.#scope = [resources.root];
  }

  fail(pointer: string, message: string, mismatch?: Mismatch): false {
    if (
      this.#silent === 0 &&
      this.found.length < MAX_VIOLATIONS &&
      !this.found.some((one) => one.pointer === pointer && one.message === message)
    ) {
      this.found.push({ pointer, message, ...(mismatch ? { mismatch } : {}) });
    }
    return false;
  }

  fits(schema: Schema, value: unknown, pointer: string, evaluated: Evaluated | null): boolean {
    this.#silent++;
    const fits = this.run(schema, value, pointer, evaluated);
    this.#silent--;
    return fits;
  }

  run(schema: unknown, value: unknown, pointer: string, evaluated: Evaluated | null): boolean {
    this.budget.spend(8);
    if (typeof schema === 'boolean')
      return schema || this.fail(pointer, 'Nothing is allowed here.', { keyword: 'false' });
    if (!isObject(schema)) return true;
    if (++this.#nesting > MAX_NESTING) {
      this.#nesting--;
      return this.fail(pointer, 'The schema refers to itself endlessly here.');
    }
    const resource = this.#resources.of.get(schema);
    const enters = resource !== undefined && resource !== this.#scope.at(-1);
    if (enters) this.#scope.push(resource);
    const mine = this.#resources.tracks ? { properties: new Set<string>(), items: new Set<number>() } : null;
    const fits = this.#keywords(schema, value, pointer, mine);
    if (enters) this.#scope.pop();
    this.#nesting--;
    if (fits && mine && evaluated) {
      this.budget.spend(mine.properties.size + mine.items.size);
      for (const key of mine.properties) evaluated.properties.add(key);
      for (const index of mine.items) evaluated.items.add(index);
    }
    return fits;
  }

  #keywords(schema: SchemaObject, value: unknown, pointer: string, mine: Evaluated | null): boolean {
    let fits = checkPlain(this, schema, value, pointer);
    fits = this.#references(schema, value, pointer, mine) && fits;
    fits = this.#combined(schema, value, pointer, mine) && fits;
    fits = this.#conditional(schema, value, pointer, mine) && fits;
    if (Array.isArray(value)) return checkArrayParts(this, schema, value, pointer, mine) && fits;
    if (isObject(value)) return checkObjectParts(this, schema, value, pointer, mine) && fits;
    return fits;
  }

  #references(schema: SchemaObject, value: unknown, pointer: string, mine: Evaluated | null): boolean {
    let fits = true;
    for (const keyword of ['$ref', '$dynamicRef'] as const) {
      const reference = own(schema, keyword);
      if (typeof reference !== 'string') continue;
      const from = this.#resources.of.get(schema) ?? this.#scope.at(-1) ?? this.#resources.root;
      this.budget.spend(24);
      const target = this.#target(reference, from, keyword === '$dynamicRef');
      if (!target) {
        fits = this.fail(pointer, `The schema refers to ${JSON.stringify(reference)}, which is not there.`);
        continue;
      }
      const enters = target.resource !== this.#scope.at(-1);
      if (enters) this.#scope.push(target.resource);
      fits = this.run(target.schema, value, pointer, mine) && fits;
      if (enters) this.#scope.pop();
    }
    return fits;
  }

  #target(reference: string, from: Resource, dynamic: boolean): ReturnType<typeof resolveReference> {
    const target = resolveReference(reference, from, this.#resources);
    const anchor = reference.slice(reference.indexOf('#') + 1);
    if (!dynamic || !target?.resource.dynamicAnchors.has(anchor)) return target;
    for (const resource of this.#scope) {
      const schema = resource.dynamicAnchors.get(anchor);
      if (schema !== undefined) return { schema, resource };
    }
    return target;
  }

  #combined(schema: SchemaObject, value: unknown, pointer: string, mine: Evaluated | null): boolean {
    let fits = true;
    for (const part of list(schema, 'allOf')) fits = this.run(part, value, pointer, mine) && fits;
    const anyOf = list(schema, 'anyOf');
    if (anyOf.length > 0) {
      // If evaluated parts are tracked, every subschema must run.
      const some = mine
        ? anyOf.filter((part) => this.fits(part, value, pointer, mine)).length > 0
        : anyOf.some((part) => this.fits(part, value, pointer, null));
      if (!some) {
        fits = this.fail(pointer, 'Instance does not match any subschemas.', { keyword: 'anyOf' });
        if (this.#silent === 0) for (const part of anyOf) this.run(part, value, pointer, null);
      }
    }
    const oneOf = list(schema, 'oneOf');
    if (oneOf.length > 0) {
      const matches = oneOf.filter((part) => this.fits(part, value, pointer, mine)).length;
      if (matches !== 1) {
        fits = this.fail(pointer, `Instance does not match exactly one subschema (${matches} matches).`, {
          keyword: 'oneOf',
        });
        if (matches === 0 && this.#silent === 0)
          for (const part of oneOf) this.run(part, value, pointer, null);
      }
    }
    const not = own(schema, 'not');
    if (isSchema(not) && this.fits(not, value, pointer, null))
      fits = this.fail(pointer, 'Instance matched "not" schema.', { keyword: 'not' });
    return fits;
  }

  #conditional(schema: SchemaObject, value: unknown, pointer: string, mine: Evaluated | null): boolean {
    const condition = own(schema, 'if');
    if (!isSchema(condition)) return true;
    const part = own(schema, this.fits(condition, value, pointer, mine) ? 'then' : 'else');
    return part === undefined || this.run(part, value, pointer, mine);
  }
}
