/** The audit log. */
import { buildRouteMap } from '@stricli/core';

import { OPERATIONS, type AuditEntry, type AuditVerification } from '../../client/index.ts';
import { OTHER_ACTIONS } from '../../contracts/audit-actions.ts';
import type { Cli } from '../core/cli.ts';
import { command, type Context } from '../core/command.ts';
import { EXIT, usageError } from '../core/errors.ts';
import { choice, flag, refuseFlags, seconds, text, proposedText, texts } from '../core/flags.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { filteredId, ofTeam } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago, oneLine } from '../core/text.ts';
import { printFeed } from './audit-feed.ts';

const auditView: View<AuditEntry> = {
  columns: [
    ['when', ({ at }) => ago(at)],
    ['who', ({ actor }) => actor?.username ?? actor?.id ?? '-'],
    ['what', ({ action }) => action],
    ['outcome', ({ outcome }) => outcome],
    ['of', ({ object }) => (object === null ? '' : oneLine(`${object.type} ${object.id ?? ''}`))],
    ['address', ({ address }) => address],
  ],
  name: ({ id }) => id,
  none: 'No entries.',
};

/** How often `--follow` asks. */
const EVERY_S = 5;

const ACTIONS = [...OTHER_ACTIONS, ...Object.keys(OPERATIONS)];

const filterFlags = {
  actor: text('Username or id of who did it, or me', 'USER'),
  action: proposedText('Such as log_in or updateUser', 'NAME', ACTIONS),
  outcome: choice('Only with this outcome', ['done', 'refused', 'failed']),
  objectType: text('Such as user or workflow', 'TYPE'),
  object: text('Id of what it was done to', 'ID'),
  address: text('From this address', 'ADDRESS'),
  from: text('From this time on, such as 2027-01-31T00:00:00Z', 'TIME'),
  to: text('Before this time', 'TIME'),
  team: text('Of what this team held; for admins of the team', 'TEAM'),
};

interface Filters {
  actor?: string | undefined;
  action?: string | undefined;
  outcome?: 'done' | 'refused' | 'failed' | undefined;
  objectType?: string | undefined;
  object?: string | undefined;
  address?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  team?: string | undefined;
}

const queryOf = async (cli: Cli, { actor, objectType, object, team, ...rest }: Filters) => ({
  ...rest,
  ...(await ofTeam(cli, team)),
  actor_id: await filteredId(cli, actor),
  object_type: objectType,
  object_id: object,
});

const list = command({
  brief: 'List the audit log, newest first: admins all of it, others what they did themselves',
  flags: { ...listFlags, ...filterFlags },
  run: async (cli, { limit, all, ...filters }) => {
    await cli.requireLogIn();
    const query = { ...(await queryOf(cli, filters)), ...pageOf({ limit, all }) };
    const items = cli.client.items('listAudit', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, { limit, all }), auditView);
  },
});

const exportLog = command({
  brief: 'Print the audit log as NDJSON or CSV, newest first, at most 100,000 entries',
  details:
    'Take a longer log in parts, by --from and --to. The export itself is in the log. Lines of CSV end ' +
    'with CR and LF, as RFC 4180 wants; on a terminal with LF only.\n\n' +
    'With --after, --follow or --state it prints JSON lines, oldest first, however many there are: each ' +
    'entry about ten seconds after it was written, with its cursor. None comes later before a cursor. ' +
    '--state FILE keeps the cursor, and the next start goes on there. A process that was killed may print ' +
    'its last 200 lines again, with the same id; one process at a time uses the file.',
  flags: {
    ...filterFlags,
    format: choice('Default: ndjson', ['ndjson', 'csv']),
    after: text('Oldest first, what follows this cursor of an entry; 0: all', 'CURSOR'),
    follow: flag('Go on with what is written from now on, until Ctrl-C'),
    every: seconds('How often --follow asks (default 5s)'),
    state: text('Keep the cursor in this file, and begin with it', 'FILE'),
  },
  letters: { f: 'follow' },
  hasData: false,
  run: async (cli, { format, after, follow = false, every, state, ...filters }) => {
    await cli.requireLogIn();
    if (!follow) refuseFlags({ every }, ['every'], 'without --follow');
    if (every === 0) throw usageError('--every is at least 1s');
    if (follow || after !== undefined || state !== undefined) {
      if (format === 'csv') refuseFlags({ format }, ['format'], 'here: these are JSON lines');
      const everyMs = (every ?? EVERY_S) * 1_000;
      return printFeed(cli, { query: await queryOf(cli, filters), after, state, follow, everyMs });
    }
    const query = { ...(await queryOf(cli, filters)), format };
    const log = await cli.client.call('exportAudit', { query, signal: cli.signal });
    cli.out.exact(typeof log === 'string' ? log : await log.text());
  },
});

const verify = command({
  brief: 'Check that nobody has changed the audit log; for admins',
  details:
    'Recomputes the hash of every sealed block and follows the chain. ' +
    'Exit code 3 if something does not fit. With --head it also compares seals that were noted elsewhere, ' +
    'such as in the log of the API: they show whether the whole chain was replaced.',
  flags: { head: texts('A seal and its hash, as in the log of the API', 'NO:HASH') },
  run: async (cli, { head = [] }) => {
    await cli.requireLogIn();
    const total: Pick<AuditVerification, 'seals' | 'entries' | 'removed'> = {
      seals: 0,
      entries: 0,
      removed: 0,
    };
    const problems: AuditVerification['problems'] = [];
    const days: number[] = [];
    let last: AuditVerification;
    let after = '0';
    do {
      const query = { after, head: [...head] };
      last = await cli.client.call('verifyAudit', { query, signal: cli.signal });
      for (const name of ['seals', 'entries', 'removed'] as const) total[name] += last[name];
      problems.push(...last.problems);
      if (last.removed_after_days !== null) days.push(last.removed_after_days);
      after = last.next ?? after;
    } while (last.next !== null);
    const ok = problems.length === 0;
    const removed_after_days = days.length === 0 ? null : Math.min(...days);
    const { unsealed, head: newest } = last;
    await cli.out.value({ ok, ...total, removed_after_days, unsealed, head: newest, problems });
    return ok ? EXIT.good : EXIT.no;
  },
});

const routes = { list, export: exportLog, verify };

export const auditCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'The audit log: who did what, when and from where' },
});
