/**
 * An entity manager that is made when the ORM is first needed. A prepared statement only needs the
 * connection, and to make an entity manager takes as long as to send such a statement.
 */
import type { EntityManager } from '@mikro-orm/postgresql';

/** As `em.fork()`. */
export function lateFork(em: EntityManager): EntityManager {
  let made: EntityManager | null = null;
  const connectionOf: EntityManager['getConnection'] = (type) => em.getConnection(type);
  const isInTransaction = (): boolean => made?.isInTransaction() ?? false;
  return new Proxy(em, {
    get(_em, key) {
      if (key === 'isInTransaction') return isInTransaction;
      if (made === null && key === 'getConnection') return connectionOf;
      made ??= em.fork();
      const value: unknown = Reflect.get(made, key, made);
      // It has private members, which the proxy does not have.
      return typeof value === 'function' ? value.bind(made) : value;
    },
    set(_em, key, value) {
      made ??= em.fork();
      return Reflect.set(made, key, value, made);
    },
  });
}
