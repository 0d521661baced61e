/** Where an erasure looks for names in runs, their human tasks, and what is kept of both. */
import type { TextPlace } from './text-place.ts';

const ID = ['id uuid'];
const DECISION = ['decision'];
const OF_TASK = '(select h.run_id from hitl_task h where h.id = t.task_id)';

/** What runs and their human tasks consist of. Logs are the most, and come last. */
export const PLACES_OF_RUNS: readonly TextPlace[] = [
  {
    kind: 'human_tasks',
    table: 'hitl_task',
    key: ID,
    texts: { title: 'text', description: 'text', subject: 'json', context: 'json' },
    fixed: { pinned: ['form_schema', 'decisions'] },
    run: 't.run_id',
  },
  {
    kind: 'decisions',
    table: 'hitl_decision',
    key: ID,
    texts: { comment: 'text', payload: 'json' },
    run: OF_TASK,
  },
  { kind: 'votes', table: 'hitl_vote', key: ID, texts: { comment: 'text', payload: 'json' }, run: OF_TASK },
  { kind: 'task_history', table: 'hitl_audit', key: ID, texts: { data: 'record' }, ids: DECISION },
  { kind: 'notices', table: 'notice', key: ['id bigint'], texts: { data: 'record' }, run: OF_TASK },
  {
    kind: 'runs',
    table: 'run',
    key: ID,
    texts: { input: 'json', output: 'json', error: 'record', tags: 'texts', labels: 'json', key: 'text' },
    fixed: { pinned: ['definition'], state: ['start_state', 'waiting_on'] },
    run: 't.id',
  },
  { kind: 'checkpoints', table: 'run_checkpoint', key: ['run_id uuid'], fixed: { state: ['state'] } },
  {
    kind: 'pinned_agents',
    table: 'run_pin',
    key: ['run_id uuid', 'reference text'],
    fixed: { pinned: ['snapshot'] },
  },
  { kind: 'signals', table: 'run_signal', key: ID, texts: { payload: 'record' }, run: 't.run_id' },
  {
    kind: 'fetched_files',
    table: 'file_fetch',
    key: ['run_id uuid', 'position integer'],
    texts: { name: 'text' },
    fixed: { configuration: ['url'] },
    run: 't.run_id',
  },
  {
    kind: 'invocations',
    table: 'invocation',
    key: ['run_id uuid', 'key text'],
    texts: { result: 'record', error: 'record', progress: 'record' },
    run: 't.run_id',
  },
  {
    kind: 'jobs',
    table: 'job',
    key: ID,
    texts: { input: 'json', progress: 'text', last_error: 'text', worker: 'text' },
    fixed: { pinned: ['configuration', 'output_schema'] },
    run: 't.run_id',
  },
  {
    kind: 'conversations',
    table: 'conversation',
    key: ID,
    texts: { input: 'json', history: 'record' },
    fixed: { pinned: ['tools'] },
    run: 't.run_id',
  },
  {
    kind: 'conversation_turns',
    table: 'conversation_turn',
    key: ['conversation_id uuid', 'turn integer'],
    texts: { answers: 'record', repair: 'text', messages: 'record', outcome: 'record' },
    run: '(select c.run_id from conversation c where c.id = t.conversation_id)',
  },
  { kind: 'a2a_messages', table: 'a2a_message', key: ID, texts: { message: 'record' }, run: 't.task_id' },
  { kind: 'a2a_tasks', table: 'a2a_task', key: ID, texts: { metadata: 'json' }, run: 't.id' },
  { kind: 'listeners', table: 'listener', key: ID, fixed: { state: ['spec', 'state'] } },
  {
    kind: 'events',
    table: 'inbound_event',
    key: ID,
    fixed: { received: ['source', 'event_id', 'type', 'subject', 'event'] },
  },
  {
    kind: 'evaluations',
    table: 'evaluation',
    key: ID,
    texts: { name: 'text', judge: 'record', checks: 'record', report: 'record', error: 'record' },
    unless: { stay: 'live_run', condition: 't.finished_at is null' },
  },
  {
    kind: 'evaluation_cases',
    table: 'evaluation_case',
    key: ['evaluation_id uuid', 'number integer'],
    texts: { given: 'record', results: 'record', marks: 'texts' },
    unless: {
      stay: 'live_run',
      condition: 'exists (select from evaluation e where e.id = t.evaluation_id and e.finished_at is null)',
    },
  },
  {
    kind: 'deliveries',
    table: 'delivery',
    key: ID,
    texts: { body: 'body', error: 'text', attempt_log: 'record' },
    unless: { stay: 'sending', condition: `t.status = 'pending'` },
  },
  {
    kind: 'run_tasks',
    table: 'run_task',
    key: ['run_id uuid', 'reference text', 'visit integer'],
    texts: { error: 'record' },
    run: 't.run_id',
  },
  {
    kind: 'run_logs',
    table: 'run_event',
    key: ['run_id uuid', 'seq integer'],
    texts: { message: 'text', data: 'record' },
    ids: DECISION,
    run: 't.run_id',
  },
  {
    kind: 'audit_entries',
    table: 'audit_entry',
    key: ['id bigint'],
    fixed: { audit_log: ['actor_name', 'object_id', 'data', 'user_agent'] },
  },
];
