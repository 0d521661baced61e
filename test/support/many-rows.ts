/**
 * Fills a database with rows of all lists, by SQL, for plans and times of their queries. Times are spread
 * over a year, so that a period is a part of each list. Only administrators of the database may leave out its
 * triggers and foreign keys.
 */
import type { EntityManager } from '../../db/orm.ts';

export interface RowCounts {
  users: number;
  workflows: number;
  agents: number;
  items: number;
  files: number;
  runs: number;
  /** Undecided human tasks, one for each of the newest runs. */
  tasks: number;
  eventsOfRun: number;
  entries: number;
  deliveries: number;
  notifications: number;
  jobs: number;
  /**
   * Of teams, webhooks, inbound webhooks, event sources, conversations and events from outside, so many each;
   * default: none.
   */
  others?: number;
}

const YEAR_MS = 365 * 24 * 3_600_000;
const WORDS = ['invoice', 'expense', 'contract', 'holiday', 'claim', 'order', 'ticket', 'visa'];
const KINDS = ['approval', 'review', 'intake', 'payment', 'triage'];

/** SQL: the words of a row's name, the last of them its number. */
const NAME = `(array['${WORDS.join("','")}'])[1 + n % ${WORDS.length}] || ' ' ||
  (array['${KINDS.join("','")}'])[1 + n / ${WORDS.length} % ${KINDS.length}] || ' ' || n`;

/** SQL: an id of version 7 of a time in milliseconds, the same for the same table and number. */
const idAt = (ms: string, table: string, n = 'n'): string =>
  `(lpad(to_hex((${ms})::bigint), 12, '0') || '7' || substr(md5('${table}' || ${n}), 1, 3)
     || '8' || substr(md5('${table}' || ${n}), 4, 15))::uuid`;

export interface ManyRows {
  /** SQL: the id of the row with a number from 1. */
  idOf(table: keyof RowCounts, n: string): string;
  /** Of a row with a number from 1, in milliseconds since 1970. */
  timeOf(table: keyof RowCounts, n: number): number;
  /** A row's name ends with its number, and has one of 8 words and one of 5. */
  words: readonly string[];
}

/** The rows that `insertManyRows` stores. */
export function manyRows(counts: RowCounts, endMs: number): ManyRows {
  const startMs = endMs - YEAR_MS;
  const stepOf = (table: keyof RowCounts): number => YEAR_MS / ((counts[table] ?? 0) + 1);
  return {
    idOf: (table, n) => idAt(`${startMs} + (${n}) * ${stepOf(table)}::numeric`, table, `(${n})::text`),
    timeOf: (table, n) => Math.round(startMs + n * stepOf(table)),
    words: WORDS,
  };
}

/** @returns what has been stored, after `analyze` */
export async function insertManyRows(em: EntityManager, counts: RowCounts, endMs: number): Promise<ManyRows> {
  const rows = manyRows(counts, endMs);
  const { idOf } = rows;
  const at = (table: keyof RowCounts): string =>
    `to_timestamp((${endMs - YEAR_MS} + n * ${YEAR_MS / ((counts[table] ?? 0) + 1)}) / 1000.0)`;
  const each = (table: keyof RowCounts): string => `generate_series(1, ${counts[table] ?? 0}) n`;
  const owner = idOf('users', `1 + n % ${counts.users}`);
  const statements = [
    `insert into user_account (id, username, email, display_name, password_hash, roles, groups, status)
     select ${idOf('users', 'n')}, 'person-' || n, 'person-' || n || '@example.com', ${NAME}, '',
            case when n % 1000 = 0 then '{admin}'::text[] else '{builder}' end,
            array['group-' || n % 1000], case when n % 500 = 0 then 'disabled' else 'active' end
       from ${each('users')}`,
    `insert into workflow (id, owner_id, name, description, visibility, tags, revision, valid, runnable,
                           runner_keys)
     select ${idOf('workflows', 'n')}, ${owner}, ${NAME}, 'number ' || n || ' of many',
            case when n % 10 = 0 then 'public' else 'private' end, array['tag-' || n % 1000], 1,
            n % 500 <> 0, n % 500 <> 0,
            case when n % 100 = 0 then array['group:group-' || n % 1000] else '{}' end
       from ${each('workflows')}`,
    `insert into workflow_revision (workflow_id, revision, definition, digest, valid, runnable, problems,
                                    agents, created_by)
     select ${idOf('workflows', 'n')}, 1, '{}', '', n % 500 <> 0, n % 500 <> 0, '[]', '[]', ${owner}
       from ${each('workflows')}`,
    `insert into agent (id, owner_id, name, description, type, status, version, visibility, tags,
                        capabilities, modalities, configuration)
     select ${idOf('agents', 'n')}, ${owner}, ${NAME}, 'number ' || n || ' of many',
            case when n % 500 = 0 then 'a2a' else 'api' end,
            case when n % 500 = 1 then 'deprecated' else 'active' end, '1.0.0',
            case when n % 10 = 0 then 'public' else 'private' end, array['tag-' || n % 1000],
            array['capability-' || n % 1000], array['modality-' || n % 1000], '{}'
       from ${each('agents')}`,
    `insert into agent_version (id, agent_id, version, configuration, input_schema, output_schema, status,
                                created_by)
     select ${idOf('agents', 'n')}, ${idOf('agents', 'n')}, '1.0.0', '{}', '{}', '{}', 'published', ${owner}
       from ${each('agents')}`,
    `insert into marketplace_item (id, kind, ref_id, publisher_id, status, version, digest, name, summary,
                                   description, categories, tags, requires, installs, created_at, updated_at)
     select ${idOf('items', 'n')}, 'workflow', ${idOf('workflows', 'n')}, ${owner},
            case when n % 500 = 0 then 'rejected' else 'approved' end, '1.0.0', '', ${NAME},
            'number ' || n, 'of many', array['category-' || n % 1000], array['tag-' || n % 1000], '[]',
            n % 977, ${at('items')}, ${at('items')}
       from ${each('items')}`,
    `insert into file (id, owner_id, name, media_type, size, sha256, visibility)
     select ${idOf('files', 'n')}, ${owner}, ${NAME} || '.pdf', 'application/pdf', 1, md5(n::text),
            case when n % 100 = 0 then 'public' else 'private' end
       from ${each('files')}`,
    ...runStatements(counts, idOf, at),
    // Of each thousand entries one is of the first team, and another one of what moved to it.
    `insert into audit_entry (at, actor_id, action, outcome, object_type, object_id, credential, via,
                              address, data)
     select ${at('entries')}, ${owner}, case when n % 500 = 0 then 'user.update' else 'run.start' end,
            case when n % 500 = 1 then 'refused' else 'done' end,
            case when n % 500 = 0 then 'user' else 'run' end, n::text, 'session', 'api', '10.0.0.' || n % 250,
            case n % 1000 when 2 then jsonb_build_object('team_id', ${idOf('others', '1')})
                          when 3 then jsonb_build_object('to_team_id', ${idOf('others', '1')})
                          else jsonb_build_object('team_id', ${idOf('others', 'n')}) end
       from ${each('entries')}`,
    `insert into delivery_target (id, kind, owner_id, url, last_ord)
     select ${idOf('deliveries', '1')}, 'webhook', ${idOf('users', '1')}, 'https://example.com', 1000000000`,
    `insert into webhook (id, secret_encrypted) values (${idOf('deliveries', '1')}, '')`,
    `insert into delivery (id, target_id, ord, message_id, type, content_type, body, status, expires_at)
     select ${idOf('deliveries', 'n')}, ${idOf('deliveries', '1')}, n, n::text, 'x', 'application/json', '{}',
            case when n % 500 = 0 then 'failed' else 'delivered' end, now()
       from ${each('deliveries')}`,
    `insert into notification (id, user_id, kind, task_id, notice_id, read_at)
     select ${idOf('notifications', 'n')}, ${idOf('users', '1')},
            case when n % 500 = 0 then 'mentioned' else 'assigned' end,
            ${idOf('tasks', `1 + n % ${counts.tasks}`)}, n, case when n % 100 > 0 then now() end
       from ${each('notifications')}`,
    `insert into job (id, run_id, key, kind, task, visit, task_attempt, agent_id, agent_version, secrets_of,
                      queue, configuration, output_schema, repeatable, max_attempts, lease_ms, expires_at,
                      finished_at, outcome)
     select ${idOf('jobs', 'n')}, ${idOf('runs', `1 + n % ${counts.runs}`)}, n::text, 'worker', '/do/0/x',
            1, 1,
            ${idOf('agents', '1')}, '1.0.0', ${idOf('users', '2')}, 'default', '{}', 'true', true, 1, 1000,
            now(), now(), case when n % 500 = 0 then 'failed' else 'completed' end
       from ${each('jobs')}`,
    ...otherStatements(counts, idOf, at),
  ];
  await em.transactional(async (tx) => {
    await tx.execute('set local session_replication_role = replica');
    for (const statement of statements) await tx.execute(statement);
  });
  await em.execute('vacuum analyze');
  return rows;
}

/** Every hundredth run has names of its own; the newest wait for a person. */
function runStatements(
  counts: RowCounts,
  idOf: ManyRows['idOf'],
  at: (table: keyof RowCounts) => string,
): string[] {
  const { runs, users, workflows, agents, tasks, eventsOfRun } = counts;
  const ofWorkflow = `1 + n % ${workflows}`;
  const waits = `n > ${runs - tasks}`;
  const name = NAME.replaceAll(/\bn\b/g, `(${ofWorkflow})`);
  const series = `generate_series(1, ${runs}) n`;
  const runOfTask = idOf('runs', `${runs - tasks} + n`);
  return [
    `insert into run (id, workflow_id, workflow_revision, workflow_name, definition, status, owner_id,
                      root_run_id, created_at, finished_at, tags, labels, key)
     select ${idOf('runs', 'n')}, ${idOf('workflows', ofWorkflow)}, 1, ${name}, '{}',
            case when ${waits} then 'waiting' when n % 1000 = 0 then 'faulted' else 'completed' end,
            ${idOf('users', `1 + (${ofWorkflow}) % ${users}`)}, ${idOf('runs', 'n')},
            ${at('runs')} + case when n % 10000 = 5000 then interval '1 day' else interval '3 ms' end,
            case when not ${waits} then ${at('runs')} end,
            case when n % 100 = 0 then array['tag-' || n % 7000] else '{}' end,
            case when n % 100 = 0 then jsonb_build_object('number', (n % 7000)::text) else '{}' end,
            case when n % 100 = 0 then 'key-' || n end
       from ${series}`,
    `insert into run_pin (run_id, reference, agent_id, version, snapshot)
     select ${idOf('runs', 'n')}, 'a', ${idOf('agents', `1 + n % ${agents}`)}, '1.0.0', '{}' from ${series}`,
    `insert into run_event (run_id, seq, key, type, at, level, message, data)
     select ${idOf('runs', 'n')}, e, 'event:' || e, 'io.cadenza.test.v1', ${at('runs')}, 'info',
            'Number ' || e || ' of run ' || n, '{"task": "/do/0/work", "attempt": 1}'
       from ${series}, generate_series(1, ${eventsOfRun}) e`,
    `insert into hitl_task (id, run_id, workflow_id, workflow_name, owner_id, initiator_id, task, task_name,
                            title, description, decisions, status, priority, candidates, candidate_keys,
                            due_at)
     select ${idOf('tasks', 'n')}, ${runOfTask}, r.workflow_id, r.workflow_name, r.owner_id, r.owner_id,
            '/do/0/ask', 'ask', 'Decide about ' || r.workflow_name,
            'Please read the ' || r.workflow_name || ' of customer ' || md5(n::text), '[]', 'open',
            n % 7 * 10, '{}', array['name:person-' || 1 + n % ${users}, 'group:group-' || n % 500],
            case when n % 3 = 0 then now() + n * interval '1 minute' end
       from generate_series(1, ${tasks}) n join run r on r.id = ${runOfTask}`,
    `insert into hitl_task_text (task_id, text)
     select id, concat_ws(' ', title, description, task_name, workflow_name) from hitl_task`,
  ];
}

/** A human task is of its run's team. */
const TASKS_OF_TEAMS = `update hitl_task t set team_id = r.team_id
   from run r where r.id = t.run_id and r.team_id is not null`;

/** Teams hold every thousandth record. The first person has all conversations and events. */
function otherStatements(
  { others = 0, users, agents }: RowCounts,
  idOf: ManyRows['idOf'],
  at: (table: keyof RowCounts) => string,
): string[] {
  const each = `generate_series(1, ${others}) n`;
  const [id, first] = [idOf('others', 'n'), idOf('users', '1')];
  const receiver = idOf('users', `1 + n % ${users}`);
  const teamOfThousandth = `case when n % 1000 = 0 then ${idOf('others', '1')} end`;
  const holding = ['workflow', 'agent', 'file', 'run'].map(
    (table) =>
      `update ${table} o set team_id = t.id
         from (select id, row_number() over (order by id) as n from ${table}) numbered
              join team t on t.id = ${idOf('others', '1 + numbered.n / 1000 % 10')}
        where o.id = numbered.id and numbered.n % 1000 = 0`,
  );
  return [
    `insert into team (id, name, created_by) select ${id}, 'team-' || n, ${first} from ${each}`,
    ...(others === 0 ? [] : [...holding, TASKS_OF_TEAMS]),
    `insert into delivery_target (id, kind, owner_id, team_id, url, active)
     select ${id}, 'webhook', ${receiver}, ${teamOfThousandth}, 'https://example.com', n % 500 <> 0
       from ${each}`,
    `insert into webhook (id, secret_encrypted) select ${id}, '' from ${each}`,
    `insert into inbound_hook (id, owner_id, team_id, name, scheme, secret, source, tolerance_seconds)
     select ${id}, ${receiver}, ${teamOfThousandth}, ${NAME}, 'github', 'KEY', '/source-' || n, 300
       from ${each}`,
    `insert into event_source (id, owner_id, team_id, source)
     select ${id}, ${receiver}, ${teamOfThousandth}, '/source-' || n from ${each}`,
    `insert into chat_session (id, agent_id, owner_id, name)
     select ${id}, ${idOf('agents', `1 + n % ${agents}`)}, ${first}, ${NAME} from ${each}`,
    `insert into inbound_event (id, owner_id, source, event_id, type, event, received_at)
     select ${id}, ${first}, '/source-' || n % 1000, n::text, 'type-' || n % 1000, '{}', ${at('others')}
       from ${each}`,
  ];
}
