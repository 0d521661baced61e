/** The statements that a request of ours sends, for a bare server to send too. */
import { createRequire } from 'node:module';

interface Statement {
  text: string;
  values: unknown[];
  /** Of a prepared one. */
  name?: string;
}

export interface BareRoute {
  path: string;
  statements: Statement[];
}

type Query = (...args: unknown[]) => unknown;

let kept: Statement[] | null = null;
// The ORM may bring a copy of the driver. From the beginning: a connection keeps the function it has when it
// opens.
const { Client } = createRequire(import.meta.resolve('@mikro-orm/postgresql'))('pg') as {
  Client: { prototype: { query: Query } };
};
const { query } = Client.prototype;
Client.prototype.query = function recording(...args) {
  const [first, second] = args;
  const { text, values, name } =
    typeof first === 'string'
      ? { text: first, values: second as unknown[], name: undefined }
      : (first as Partial<Statement>);
  if (text !== undefined) kept?.push({ text, values: values ?? [], ...(name ? { name } : {}) });
  return query.apply(this, args);
};

/**
 * What this process sends while it answers one request, without what says who asks, and what all requests of
 * a second share.
 */
export async function statementsOf(request: () => Promise<unknown>): Promise<Statement[]> {
  kept = [];
  await request();
  const statements = kept.filter(({ text }) => !/left join auth_session|from write_pause/.test(text));
  kept = null;
  return statements;
}
