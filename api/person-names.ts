/**
 * Names beside the ids of people: a record whose schema has `owner_name` gets the name of its `owner_id`, and
 * a list of ids a list of names. All people of a response are read in one statement.
 */
import * as z from 'zod';

import { isRecord } from '../contracts/is-record.ts';
import { isUuid } from '../contracts/uuid.ts';
import type { EntityManager } from '../db/orm.ts';
import { Prepared } from '../db/prepared.ts';
import { arrayLiteral } from '../db/sql.ts';
import { isMedia, type Endpoint, type EndpointResponse } from './endpoint.ts';
import type { KnownNames } from './known-names.ts';

/** Where in the record the id or username of each name is, or a list of them. */
const SOURCES = {
  owner_name: ['owner_id'],
  user_name: ['user_id'],
  assignee_name: ['assignee'],
  claimed_by_name: ['claimed_by'],
  decided_by_name: ['decided_by'],
  created_by_name: ['created_by'],
  added_by_name: ['added_by'],
  started_by_name: ['started_by'],
  paused_by_name: ['paused_by'],
  runner_names: ['runners', 'users'],
} as const;

/** In the schema of a record: the display name, or else the username. */
export const personName = z
  .string()
  .nullable()
  .optional()
  .meta({ description: 'Display name, or else username; null without a person.' });

/** In the schema of a record with a list of people, in the same order. */
export const listOfNames = z
  .array(z.string().nullable())
  .optional()
  .meta({ description: 'Display names, or else usernames, in the order of the ids.' });

interface Plan {
  names: (keyof typeof SOURCES)[];
  members: [string, Plan][];
}

const NAMES = new Prepared(
  `select id, lower(username) as username, coalesce(display_name, username) as name from user_account
    where id = any(?::uuid[]) or lower(username) = any(?::text[])`,
);

export type Naming = (em: EntityManager, response: EndpointResponse) => Promise<EndpointResponse>;

/**
 * Fills in the names that the schemas of an endpoint's responses have. @returns the naming of one request,
 * which reads each person once
 */
export function personNames(endpoint: Endpoint, known: KnownNames): () => Naming {
  const plans = new Map<number, Plan>();
  for (const [status, declared] of Object.entries(endpoint.responses)) {
    const plan = declared === null || isMedia(declared) ? null : planOf(declared, 0);
    if (plan !== null) plans.set(Number(status), plan);
  }
  return () => {
    const names = new Map<string, string>();
    return async (em, response) => {
      const plan = plans.get(response.status);
      if (plan === undefined || response.body === undefined || response.type !== undefined) return response;
      const people = new Set<string>();
      collect(plan, response.body, people);
      await known.complete(names, people, (unknown) => readNames(em, unknown));
      return { ...response, body: named(plan, response.body, names) };
    };
  };
}

const MAX_DEPTH = 6;

/** Null if no part of the schema has a name. */
function planOf(schema: unknown, depth: number): Plan | null {
  if (depth > MAX_DEPTH) return null;
  if (schema instanceof z.ZodArray) return planOf(schema.element, depth + 1);
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return planOf(schema.unwrap(), depth + 1);
  if (!(schema instanceof z.ZodObject)) return null;
  const names = NAMED.filter((name) => name in schema.shape);
  const members = Object.entries(schema.shape).flatMap(([key, value]): [string, Plan][] => {
    const plan = planOf(value, depth + 1);
    return plan === null ? [] : [[key, plan]];
  });
  return names.length + members.length === 0 ? null : { names, members };
}

// The keys of the object above.
const NAMED = Object.keys(SOURCES) as (keyof typeof SOURCES)[];

function collect(plan: Plan, value: unknown, people: Set<string>): void {
  if (Array.isArray(value)) for (const entry of value) collect(plan, entry, people);
  if (!isRecord(value)) return;
  for (const name of plan.names) {
    const found = valueAt(value, SOURCES[name]);
    for (const person of Array.isArray(found) ? found : [found])
      if (typeof person === 'string') people.add(person.toLowerCase());
  }
  for (const [key, member] of plan.members) collect(member, value[key], people);
}

function named(plan: Plan, value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((entry) => named(plan, entry, names));
  if (!isRecord(value)) return value;
  const copy = { ...value };
  for (const [key, member] of plan.members) if (key in value) copy[key] = named(member, value[key], names);
  const nameOf = (person: unknown): string | null =>
    typeof person === 'string' ? (names.get(person.toLowerCase()) ?? null) : null;
  for (const name of plan.names) {
    const found = valueAt(value, SOURCES[name]);
    if (found === undefined) continue;
    copy[name] = Array.isArray(found) ? found.map(nameOf) : nameOf(found);
  }
  return copy;
}

function valueAt(record: Record<string, unknown>, path: readonly string[]): unknown {
  let value: unknown = record;
  for (const key of path) value = isRecord(value) ? value[key] : undefined;
  return value;
}

/** By id and by username. */
async function readNames(em: EntityManager, people: readonly string[]): Promise<Map<string, string>> {
  const rows = await NAMES.execute<{ id: string; username: string; name: string }>(em, [
    arrayLiteral(people.filter((person) => isUuid(person))),
    arrayLiteral(people.filter((person) => !isUuid(person))),
  ]);
  return new Map(
    rows.flatMap(({ id, username, name }) => [
      [username, name],
      [id, name],
    ]),
  );
}
