/** Who, where, and how the server is. */
import { readFileSync } from 'node:fs';

import { ApiError, type Readiness, type User } from '../../client/index.ts';
import { openInBrowser } from '../core/browser.ts';
import { command, optional } from '../core/command.ts';
import { CliError, EXIT } from '../core/errors.ts';
import { flag } from '../core/flags.ts';
import { OAuthRefusal } from '../core/oauth.ts';
import type { View } from '../core/table.ts';
import type { Cli } from '../core/cli.ts';

export const userView: View<User> = {
  columns: [
    ['username', (user) => user.username],
    ['name', (user) => user.display_name],
    ['email', (user) => user.email],
    ['roles', (user) => user.roles],
    ['groups', (user) => user.groups],
    ['status', (user) => user.status],
  ],
  name: (user) => user.username,
};

export const whoamiCommand = command({
  brief: 'Show who you are logged in as',
  run: async (cli) => {
    await cli.requireLogIn();
    await cli.out.record(await cli.client.call('getMe'), userView);
  },
});

/** The health of the server; a server that is down answers 503 with the same record. */
export async function readinessOf(cli: Cli): Promise<Readiness> {
  try {
    return await cli.anonymous.call('getReadiness');
  } catch (error) {
    // The answer of /readyz, which is no problem document.
    if (error instanceof ApiError && error.status === 503 && 'checks' in error.problem)
      return error.problem as unknown as Readiness;
    throw error;
  }
}

interface Status {
  url: string;
  profile: string;
  user: string | null;
  status: Readiness['status'];
  problems: string[];
}

const statusView: View<Status> = {
  columns: [
    ['server', ({ url }) => url],
    ['profile', ({ profile }) => profile],
    ['user', ({ user, status }) => user ?? (status === 'down' ? 'unknown' : 'not logged in')],
    ['health', ({ status }) => status],
    ['problems', ({ problems }) => problems],
  ],
  name: ({ status }) => status,
};

export const statusCommand = command({
  brief: 'Show the server, the user and the health; exits with 3 if the server is down',
  run: async (cli) => {
    const { url, profileName: profile } = cli.session;
    const { status, problems = [] } = await readinessOf(cli).catch(downIfAway);
    const user = await userOf(cli).catch((error: unknown) => {
      if (status !== 'down' || !isOfAbsentServer(error)) throw error;
      return null;
    });
    await cli.out.record({ url, profile, user, status, problems }, statusView);
    if (status !== 'down') return EXIT.good;
    cli.say('Look closer: cadenza doctor');
    return EXIT.no;
  },
});

async function userOf({ session, client }: Cli): Promise<string | null> {
  if ((await session.token()) === undefined) return null;
  try {
    return (await client.call('getMe')).username;
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

function downIfAway(error: unknown): Pick<Readiness, 'status' | 'problems'> {
  if (!(error instanceof Error) || !isOfAbsentServer(error)) throw error;
  return { status: 'down', problems: [error.message] };
}

/** Of a server that cannot be reached, or for which only a proxy answers. */
function isOfAbsentServer(error: unknown): boolean {
  if (error instanceof ApiError || error instanceof OAuthRefusal)
    return [502, 503, 504].some((status) => status === error.status);
  return error instanceof CliError && error.code === 'server_unreachable';
}

export const cliVersion = (): string => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  // Our own package.json.
  return (JSON.parse(text) as { version: string }).version;
};

export const versionCommand = command({
  brief: 'Show the version of this command line',
  run: async (cli) => {
    const version = { version: cliVersion(), node: process.versions.node };
    await cli.out.record(version, {
      columns: [
        ['cadenza', (one) => one.version],
        ['node', (one) => one.node],
      ],
      name: (one) => one.version,
    });
  },
});

export const openCommand = command({
  brief: 'Open the console in a browser',
  flags: { print: flag('Print the address only') },
  arguments: [optional('PATH', 'A page of the console, such as runs or inbox')],
  hasData: false,
  run: async (cli, { print }, path = '') => {
    openPage(cli, path, print === true);
  },
});

/** Prints the address, so that it can be opened elsewhere too. */
export function openPage(cli: Cli, path: string, printOnly: boolean): void {
  const url = `${cli.session.url}/console/${path.replace(/^\/+/, '')}`;
  cli.out.text(url);
  if (!printOnly) openInBrowser(cli, url);
}
