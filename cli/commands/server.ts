/** The server itself, on its own machine: backups, upgrades, keys, the way back in, and what is wrong. */
import { buildRouteMap } from '@stricli/core';

import { argument, command, optional, type Context } from '../core/command.ts';
import { CliError, EXIT } from '../core/errors.ts';
import { findingView, type Finding } from '../core/findings.ts';
import { count, flag, text, texts } from '../core/flags.ts';
import { confirm, readSecret } from '../core/input.ts';
import { runOnServer } from '../core/server-program.ts';
import type { View } from '../core/table.ts';

const WHERE =
  'Run it where Cadenza runs, in its folder and with its settings; with Docker: ' +
  'docker compose run --rm api server …';
const FOLDER = argument('DIR', 'Folder of the backup');
const PLACE = argument('DIR', 'Folder of the backup; with --keep or --keep-days, of all of them');
const temporalDatabase = texts(
  'URL of a database of Temporal on PostgreSQL: first of its store, then of its visibility. Others on the ' +
    'machine see arguments: set TEMPORAL_DATABASE_URLS if it has a password',
  'URL',
);

interface Keys {
  keys_included: boolean;
  keys_needed: string[];
}

const keysText = ({ keys_included: has, keys_needed: ids }: Keys): string =>
  has ? 'included' : `not included: ${ids.join(', ')}`;

interface Backup extends Keys {
  folder: string;
  rows: number;
  files: number;
  bytes: number;
  total_bytes: number;
  temporal: string;
  removed: string[];
}

const backupView: View<Backup> = {
  columns: [
    ['folder', ({ folder }) => folder],
    ['rows', ({ rows }) => String(rows)],
    ['files', ({ files }) => String(files)],
    ['bytes of files', ({ bytes }) => String(bytes)],
    ['bytes of all', ({ total_bytes: bytes }) => String(bytes)],
    ['temporal', ({ temporal }) => temporal],
    ['keys', keysText],
    ['removed', ({ removed }) => removed.join(', ') || 'none'],
  ],
  name: ({ folder }) => folder,
};

const backup = command({
  brief: 'Write everything into a new folder, while Cadenza runs',
  details:
    'Database, files, and Temporal where it is reached: that of npm start, or the databases that you name. ' +
    'Meanwhile requests that change something are answered with 503 and Retry-After, and workers take no ' +
    'new work. Then everything is read again, and only if it is whole the backup is complete. Keys are ' +
    'left out unless you ask for them. With --keep or --keep-days DIR is for many backups, each in a ' +
    'folder that is named after its time. What need not be kept is removed: only such folders, with ' +
    `backups of this installation, and never the newest. ${WHERE}`,
  flags: {
    keep: count('Keep the newest backups in DIR, so many'),
    keepDays: count('Keep the backups in DIR that are not older'),
    withKeys: flag('Also write ENCRYPTION_KEYS: whoever has the folder can then read all secrets'),
    withoutFiles: flag('Leave out the file store, which you back up by other means'),
    temporalDatabase,
  },
  arguments: [PLACE],
  run: async (cli, { temporalDatabase: temporalDatabases, ...options }, folder) => {
    const result = await runOnServer(cli, 'backup', { ...options, folder, temporalDatabases });
    // The server's program answers in this form.
    await cli.out.record(result as Backup, backupView);
  },
});

interface Verified extends Keys {
  taken_at: string;
  version: string;
  rows: number;
  files: number;
  bytes: number;
  temporal: string;
}

const verifiedView: View<Verified> = {
  columns: [
    ['backup of', ({ taken_at: at }) => at],
    ['release', ({ version }) => version],
    ['rows', ({ rows }) => String(rows)],
    ['files', ({ files }) => String(files)],
    ['bytes', ({ bytes }) => String(bytes)],
    ['temporal', ({ temporal }) => temporal],
    ['keys', keysText],
  ],
  name: ({ taken_at: at }) => at,
};

const verifyBackup = command({
  brief: 'Read all of a backup: whether it is whole, and this release can restore it',
  details: `It needs neither the database nor keys, and changes nothing. ${WHERE}`,
  arguments: [FOLDER],
  run: async (cli, _flags, folder) => {
    const result = await runOnServer(cli, 'verify-backup', { folder });
    await cli.out.record(result as Verified, verifiedView);
  },
});

interface Restored {
  taken_at: string;
  rows: number;
  files: number;
  temporal: string;
  migrations: string[];
}

const restoredView: View<Restored> = {
  columns: [
    ['backup of', ({ taken_at: at }) => at],
    ['rows', ({ rows }) => String(rows)],
    ['files', ({ files }) => String(files)],
    ['temporal', ({ temporal }) => temporal],
    ['migrated', ({ migrations }) => String(migrations.length)],
  ],
  name: ({ taken_at: at }) => at,
};

const restore = command({
  brief: 'Put a backup in the place of an installation that is stopped',
  details:
    'Fills an empty installation, or with --replace removes what is there. Backups of older releases are ' +
    'migrated. If it is killed, run it again. Signals to unfinished runs are sent again, so a Temporal of ' +
    `an earlier time catches up; runs that it does not know are started or end with an error. ${WHERE}`,
  flags: {
    replace: flag('Remove the data that is there'),
    paused: flag('It starts with writes paused: it calls and sends nothing until cadenza server resume'),
    yes: flag('Do not ask'),
    temporalDatabase,
  },
  letters: { y: 'yes' },
  arguments: [FOLDER],
  run: async (cli, { replace, paused, yes, temporalDatabase: temporalDatabases }, folder) => {
    if (replace === true) await confirm(cli, 'Remove all data of this installation?', yes);
    const result = await runOnServer(cli, 'restore', { folder, replace, paused, temporalDatabases });
    await cli.out.record(result as Restored, restoredView);
  },
});

interface Upgraded {
  migrations: string[];
  functions: string[];
  applied: boolean;
}

const upgradedView: View<Upgraded> = {
  columns: [
    ['applied', ({ applied }) => (applied ? 'yes' : 'no')],
    ['migrations', ({ migrations }) => migrations.join(', ') || 'none'],
    ['functions', ({ functions }) => functions.join(', ') || 'none'],
  ],
  name: ({ migrations }) => migrations.join(' '),
};

const upgrade = command({
  brief: 'Bring the schema of the database to this release; with --dry-run exits with 3 if it is older',
  details: `All changes are made, or none. ${WHERE}`,
  flags: { dryRun: flag('Only show what would change') },
  run: async (cli, { dryRun }) => {
    const done = (await runOnServer(cli, 'upgrade', { dryRun })) as Upgraded;
    await cli.out.record(done, upgradedView);
    const isPending = done.migrations.length + done.functions.length > 0;
    return dryRun === true && isPending ? EXIT.no : EXIT.good;
  },
});

const rotateKeys = command({
  brief: 'Encrypt everything with the first of ENCRYPTION_KEYS, and say when the others can go',
  details: `Works in small steps while Cadenza runs; if it is killed, run it again. ${WHERE}`,
  hasData: false,
  run: async (cli) => {
    const { complete } = (await runOnServer(cli, 'rotate-keys', {})) as { complete: boolean };
    if (complete) return;
    throw new CliError('Not everything could be decrypted; the lines above name it.', {
      code: 'not_rotated',
    });
  },
});

interface Reset {
  username: string;
  password?: string;
}

const resetView: View<Reset> = {
  columns: [
    ['username', ({ username }) => username],
    ['password', ({ password }) => password ?? 'the one that you gave'],
  ],
  name: ({ username }) => username,
};

const resetAdmin = command({
  brief: 'Give an administrator a new password, and end their sessions',
  details:
    'For the day on which no administrator can log in. The account is active again, and the audit log has ' +
    `an entry. The new password is generated and shown, unless you give one. It asks first. ${WHERE}`,
  flags: {
    yes: flag('Do not ask'),
    passwordStdin: flag('Read the new password from stdin, 12 characters or more'),
    withoutSecondFactor: flag('Also remove authenticator app, passkeys and recovery codes'),
  },
  letters: { y: 'yes' },
  arguments: [optional('USERNAME', 'Default: ADMIN_USERNAME, or admin')],
  run: async (cli, { yes, passwordStdin, withoutSecondFactor }, given) => {
    let username = given;
    if (yes !== true) {
      // Only the server knows its settings, and whether there is such an administrator.
      const found = (await runOnServer(cli, 'reset-admin', { username, dryRun: true })) as Reset;
      username = found.username;
      const factor = withoutSecondFactor === true ? ', remove the second factor' : '';
      const change = `Give ${username} a new password${factor}, and end all sessions and tokens`;
      await confirm(cli, `${change} of this account?`, yes);
    }
    const password = passwordStdin === true ? await readSecret(cli) : undefined;
    const result = await runOnServer(cli, 'reset-admin', { username, password, withoutSecondFactor });
    await cli.out.record(result as Reset, resetView);
  },
});

const doctor = command({
  brief: 'Check the server with all that it needs, and say what to do; exits with 3 if something is wrong',
  details:
    'Versions, schema, keys, clocks, connections, disk, file store, Temporal and its workers, mail server, ' +
    `issuers of single sign-on, the api and its ports. It needs no session. ${WHERE}`,
  run: async (cli) => {
    const findings = (await runOnServer(cli, 'doctor', {})) as Finding[];
    await cli.out.list(findings, findingView);
    return findings.some(({ status }) => status === 'error') ? EXIT.no : EXIT.good;
  },
});

const pause = command({
  brief: 'Pause all changes: runs stand still, nothing is called or sent, until cadenza server resume',
  details:
    'Requests that change something are answered with 503, and workers take no new work; what is under way ' +
    `ends. Logging in and reading go on. It lasts over restarts. ${WHERE}`,
  flags: { reason: text('What people are told', 'TEXT') },
  run: async (cli, { reason = 'for maintenance' }) => {
    await cli.out.value(await runOnServer(cli, 'pause', { reason }));
  },
});

const resume = command({
  brief: 'End the pause of cadenza server pause, or of a restore with --paused',
  details: `Runs go on within a second. ${WHERE}`,
  run: async (cli) => {
    const { resumed } = (await runOnServer(cli, 'resume', {})) as { resumed: boolean };
    if (!resumed) cli.say('Writes were not paused.');
    await cli.out.value({ resumed });
  },
});

const recount = command({
  brief: 'Count again what the totals of files are, which quotas use',
  details: `For the case that doctor finds them wrong. Uploads wait meanwhile, for seconds. ${WHERE}`,
  run: async (cli) => {
    await cli.out.value(await runOnServer(cli, 'recount', {}));
  },
});

type Commands =
  | 'backup'
  | 'verifyBackup'
  | 'restore'
  | 'pause'
  | 'resume'
  | 'upgrade'
  | 'rotateKeys'
  | 'resetAdmin'
  | 'recount'
  | 'doctor';

export const serverCommands = buildRouteMap<Commands, Context>({
  routes: { backup, verifyBackup, restore, pause, resume, upgrade, rotateKeys, resetAdmin, recount, doctor },
  docs: { brief: 'The server, on its own machine: backups, pauses, upgrades, keys, checks' },
});
