/**
 * Every column with a person, and what becomes of it when an administrator hands over all that somebody has
 * (docs/teams.md#moving). A new column belongs into one of the two lists.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const BATCHES = 'domain/transfers/batches.ts';
const LIVE_RUNS = 'domain/transfers/live-runs.ts';

/** The file that gives it the new owner. */
const HANDED_OVER: Record<string, string> = {
  'a2a_task.owner_id': LIVE_RUNS,
  'agent.owner_id': BATCHES,
  'applied_resource.owner_id': BATCHES,
  'chat_session.owner_id': 'domain/conversations/hand-over.ts',
  'delivery_target.owner_id': BATCHES,
  'event_source.owner_id': 'domain/events/sources.ts',
  'event_source.user_id': 'domain/events/sources.ts',
  'file.owner_id': BATCHES,
  'file_total.holder_id': 'db/functions/count_files.sql',
  'hitl_task.claimed_by': 'domain/hitl/transfer-tasks.ts',
  'hitl_task.owner_id': LIVE_RUNS,
  'inbound_hook.owner_id': 'domain/hooks/service.ts',
  'listener.owner_id': 'domain/schedules/listener.ts',
  'listener_key.sender_id': 'domain/schedules/listener.ts',
  'marketplace_item.publisher_id': BATCHES,
  'notification_channel.owner_id': 'domain/notifications/channels.ts',
  'run.owner_id': LIVE_RUNS,
  'run_hour.owner_id': 'domain/runs/hours.ts',
  'run_hour_change.owner_id': 'domain/runs/hours.ts',
  'secret.owner_id': 'domain/transfers/secrets.ts',
  'workflow.owner_id': 'domain/transfers/begin.ts',
};

const FACT = 'says who did something';
const CREDENTIAL = 'lets this person in, and nobody else';
const ACCOUNT = 'is about the account';
const PERSONAL = "is for the person's eyes, or what the person has chosen";
const SPENT = 'says who has spent or used it; what follows counts for the new owner';
const RIGHT = 'names somebody to whom another has given a right';

/** Why it stays with the person. */
const STAYS: Record<string, string> = {
  'a2a_message.owner_id': `${FACT}; its sender is answered as for an unknown task (domain/a2a/send.ts)`,
  'absence.created_by': FACT,
  'absence.deputy_id': RIGHT,
  'absence.user_id': PERSONAL,
  'access_token.user_id': CREDENTIAL,
  'account_link.created_by': FACT,
  'account_link.user_id': CREDENTIAL,
  'account_mail.user_id': PERSONAL,
  'account_notice.user_id': PERSONAL,
  'agent_version.created_by': FACT,
  'applied_resource.applied_by': FACT,
  'audit_entry.actor_id': FACT,
  'auth_challenge.user_id': CREDENTIAL,
  'auth_client.user_id': CREDENTIAL,
  'auth_session.user_id': CREDENTIAL,
  'budget.subject_id': 'is the budget of the account; those of workflows and agents go along by their id',
  'cancelled_request.user_id': FACT,
  'decision_link.user_id': CREDENTIAL,
  'device_request.user_id': CREDENTIAL,
  'erasure.requested_by': FACT,
  'erasure.user_id': ACCOUNT,
  'evaluation.started_by': `${FACT}; an evaluation is seen by whoever has its agent`,
  'event_source.shared_with': RIGHT,
  'hitl_audit.actor_id': FACT,
  'hitl_comment.created_by': FACT,
  'hitl_decision.decided_by': FACT,
  'hitl_task.initiator_id': `${FACT}, for four eyes`,
  'hitl_task.initiator_ids': `${FACT}, for four eyes`,
  'hitl_vote.in_place_of': FACT,
  'hitl_vote.voted_by': FACT,
  'idempotency_record.user_id': 'repeats an answer that this person has had, for a day',
  'identity_group_member.user_id': ACCOUNT,
  'identity_machine.user_id': CREDENTIAL,
  'inbound_event.owner_id': FACT,
  'inbound_event.sent_by': `${FACT}, for four eyes`,
  'job.secrets_of': 'says whose secrets a live run began with, which are copied and stay',
  'live_run_room.holder_id': SPENT,
  'marketplace_install.user_id': FACT,
  'marketplace_review.user_id': FACT,
  'marketplace_version.reviewed_by': FACT,
  'notice.after_user': 'is the position in a list of people',
  'notification.actor_id': FACT,
  'notification.in_place_of': PERSONAL,
  'notification.user_id': PERSONAL,
  'notification_delivery.user_id': PERSONAL,
  'notification_settings.user_id': PERSONAL,
  'oauth_code.user_id': CREDENTIAL,
  'open_stream.user_id': SPENT,
  'passkey.user_id': CREDENTIAL,
  'password_request.user_id': CREDENTIAL,
  'protocol_call.user_id': `${FACT}; a repeat of it finds no run (domain/runs/protocol-calls.ts)`,
  'recovery_code.user_id': CREDENTIAL,
  'request_count.user_id': SPENT,
  'run.initiator_ids': `${FACT}, for four eyes`,
  'run_rate.holder_id': SPENT,
  'run_signal.by_id': FACT,
  'scim_token.created_by': FACT,
  'team.created_by': FACT,
  'task_return.user_id': ACCOUNT,
  'team_group.added_by': FACT,
  'team_member.added_by': FACT,
  'team_member.user_id': RIGHT,
  'transfer.from_id': 'is the transfer itself',
  'transfer.requested_by': FACT,
  'transfer.to_id': 'is the transfer itself',
  'usage_day.user_id': SPENT,
  'usage_record.user_id': SPENT,
  'user_identity.user_id': CREDENTIAL,
  'user_preferences.user_id': PERSONAL,
  'user_totp.user_id': CREDENTIAL,
  'worker_token.owner_id': `${CREDENTIAL}; it serves no agent that its owner may not change`,
  'workflow.event_senders': RIGHT,
  'workflow_revision.created_by': FACT,
  'workflow_schedule.paused_by': FACT,
};

/** Columns without a reference that hold ids of something else, or a place in the order of ids. */
const NO_PEOPLE = new Set([
  'a2a_message.asked',
  'chat_session.holder_run',
  'delivery.redelivery_of',
  'group_to_follow.after_id',
  'maintenance.sweep_after',
  'run.charged',
  'run.started_by',
  'second_factor_setting.copy_id',
  'task_return.after_id',
  'team_move.below',
  'transfer.position',
  'write_pause.holder',
]);

/** Names of columns with the id of a record that is no person. */
const RECORDS =
  'agent|budget|channel|child|client|comment|conversation|event|file|file_store|hook|inbox|installation|' +
  'issuer|item|listener|notification|ref|resource|run|session|target|task|team|token|workflow';
const OF_RECORDS = new RegExp(`^(id|(.*_)?(${RECORDS})_id)$`);

/** Columns that refer to an account, and ids that say not what they are of. */
function columnsWithPeople(schema: string): string[] {
  return [...schema.matchAll(/^create (?:unlogged )?table (\w+) \(\n(.*?)\n\);/gms)].flatMap(
    ([, table, body = '']) => {
      const references = new Map(
        [...body.matchAll(/FOREIGN KEY \((\w+)\) REFERENCES (\w+)/g)].map(([, column, of]) => [column, of]),
      );
      return [...body.matchAll(/^ {2}"?(\w+)"? uuid(?:\[\])?(?![^\n]*generated always)/gm)].flatMap(
        ([, column = '']) => {
          const of = references.get(column);
          const isPerson = of === undefined ? !OF_RECORDS.test(column) : of === 'user_account';
          return isPerson ? [`${table}.${column}`] : [];
        },
      );
    },
  );
}

test('of every column with a person somebody has decided whether a transfer hands it over', () => {
  const found = columnsWithPeople(read('db/schema.sql')).filter((column) => !NO_PEOPLE.has(column));
  expect(found.toSorted()).toEqual([...Object.keys(HANDED_OVER), ...Object.keys(STAYS)].toSorted());
});

test('what is handed over names the file that does so', () => {
  for (const [column, file] of Object.entries(HANDED_OVER)) {
    const [table = '', name = ''] = column.split('.');
    // Secrets are copied, by the service that stores them.
    const words = column === 'secret.owner_id' ? ['putSecret'] : [table, name];
    const source = read(file);
    expect([column, words.filter((word) => !source.includes(word))]).toEqual([column, []]);
  }
});

test('a table that is added with an owner is found', () => {
  const table = `create table note (
  id uuid not null,
  written_for uuid not null,
  run_id uuid,
  kept_by uuid,
  constraint note_kept_by_fkey FOREIGN KEY (kept_by) REFERENCES user_account(id)
);`;
  expect(columnsWithPeople(table)).toEqual(['note.written_for', 'note.kept_by']);
});
