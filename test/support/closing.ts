/** The end of what a test file started, step by step: a step that hangs is named, and the rest goes on. */
import pg from 'pg';

/** Nearly all steps take well below a second. */
const HANGS_MS = 20_000;

interface Step {
  name: string;
  work: () => Promise<unknown>;
  /** Longer than this is too long. Default: 20 s. */
  limitMs?: number;
  /** What may show why it hangs. */
  details?: () => unknown;
}

/** In this order. @throws what a step throws, after the steps that follow it */
export async function closeInSteps(steps: readonly Step[]): Promise<void> {
  const caller = /[^\s(]+\.test\.ts[:\d]*/.exec(new Error().stack ?? '')?.[0] ?? 'close()';
  const errors: unknown[] = [];
  for (const { name, work, limitMs = HANGS_MS, details } of steps) {
    const hung = Promise.withResolvers<'hung'>();
    const timer = setTimeout(() => hung.resolve('hung'), limitMs);
    try {
      if ((await Promise.race([work(), hung.promise])) === 'hung') {
        const state = JSON.stringify(await details?.());
        process.stderr.write(
          `${caller}: ${name} takes more than ${limitMs / 1_000} s and is left: ${state}\n`,
        );
      }
    } catch (error) {
      errors.push(error);
    } finally {
      clearTimeout(timer);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** What connections to a database do, and those that wait for something of the server. */
export async function connectionsOf(databaseUrl: string): Promise<unknown> {
  const client = new pg.Client({
    connectionString: databaseUrl.replace(/[^/]*$/, 'postgres'),
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  });
  try {
    await client.connect();
    const { rows } = await client.query(
      `select pid, datname, application_name, state, wait_event_type, wait_event,
              age(clock_timestamp(), state_change)::text as for, left(query, 200) as query
         from pg_stat_activity where datname = $1 or wait_event_type in ('IPC', 'Lock')`,
      [databaseUrl.split('/').at(-1)],
    );
    return rows;
  } catch (error) {
    return String(error);
  } finally {
    await client.end().catch(() => {});
  }
}
