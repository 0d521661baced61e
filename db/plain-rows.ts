/**
 * Rows of an entity's table that are only shown: read by a prepared statement, not managed by the ORM, whose
 * work for a row takes longer than the statement.
 */
import { types } from '@mikro-orm/postgresql';

/** What an entity declares, as far as it is needed here. */
interface Declared {
  meta: { properties: object };
}

interface Property {
  type?: unknown;
  /** Only read by statements that name it. */
  lazy?: boolean;
}

const propertiesOf = ({ meta }: Declared): [string, Property][] => Object.entries(meta.properties);

/**
 * SQL: the columns of an entity. Not `*`: once a migration has added a column, PostgreSQL refuses a plan of
 * it that a connection has made.
 */
export function columnsOf(entity: Declared): string {
  const read = propertiesOf(entity).filter(([, { lazy = false }]) => !lazy);
  return read.map(([name]) => name).join(', ');
}

/** @returns what makes a row of the driver, which gives times as texts, a row as the ORM gives it */
export function plainRows<Row extends object>(entity: Declared): (row: Row) => Row {
  const times = propertiesOf(entity).flatMap(([name, { type }]) => (type === types.datetime ? [name] : []));
  return (row) => ({
    ...row,
    ...Object.fromEntries(times.map((name) => [name, timeOf(Reflect.get(row, name))])),
  });
}

function timeOf(value: unknown): unknown {
  return typeof value === 'string' ? new Date(value) : value;
}
