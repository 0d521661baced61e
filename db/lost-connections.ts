/**
 * Kysely keeps a connection for ever if the `begin` or `rollback` of a transaction fails on it, as both do
 * when the server is gone: after some restarts of the database no connection would be left.
 */

/** What a client of the pool has, as far as it is needed here. */
interface PooledClient {
  query(...args: unknown[]): unknown;
  /** With an error: the pool closes the connection. */
  release(error: unknown): void;
}

const FRAME_OF_TRANSACTION = /^(?:begin|start transaction.*|rollback)$/;

/** Makes a client of the pool give itself back when one of these fails. */
export function releaseWhenLost(client: PooledClient): void {
  const query = client.query.bind(client);
  client.query = (...args) => {
    const result = query(...args);
    const [text] = args;
    if (result instanceof Promise && typeof text === 'string' && FRAME_OF_TRANSACTION.test(text))
      result.catch((error: unknown) => client.release(error));
    return result;
  };
}
