/** Versions of marketplace items, as admins look at them and decide on them. */
import type { ListedMarketplaceItem, MarketplaceItem, MarketplaceVersion } from '../../client/index.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command, optional } from '../core/command.ts';
import { CliError, EXIT, usageError } from '../core/errors.ts';
import { text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { safeYaml } from '../core/output.ts';
import type { View } from '../core/table.ts';
import { oneLine } from '../core/text.ts';

export const ITEM = argument('ITEM', 'Id of an item', 'item');

export const itemView: View<ListedMarketplaceItem | MarketplaceItem> = {
  columns: [
    ['id', ({ id }) => id],
    ['kind', ({ kind }) => kind],
    ['name', ({ name }) => name],
    ['version', ({ version: number }) => number],
    ['status', ({ status }) => status],
    ['publisher', ({ publisher }) => publisher.username],
    ['rating', ({ rating }) => (rating.average === null ? '' : `${rating.average} (${rating.count})`)],
    ['installs', ({ installs }) => installs],
  ],
  name: ({ id }) => id,
  none: 'No items.',
};

export const version = command({
  brief: 'Show a version of an item: what it needs, its content, and the digest of that',
  arguments: [ITEM, optional('VERSION', 'Default: the latest that waits, else the current one')],
  run: async (cli, _flags, id, given) => {
    const found = await readVersion(cli, id, given);
    const lines = await versionLines(found);
    await cli.out.record(found, { columns: [], name: ({ digest }) => digest, lines: () => lines });
  },
});

async function readVersion(cli: Cli, id: string, given: string | undefined): Promise<MarketplaceVersion> {
  const { signal } = cli;
  const path = { id, version: given ?? (await latestOf(cli, id)) };
  return cli.client.call('getMarketplaceVersion', { path, signal });
}

async function latestOf(cli: Cli, id: string): Promise<string> {
  const item = await cli.client.call('getMarketplaceItem', { path: { id }, signal: cli.signal });
  return item.versions.find(({ status }) => status === 'submitted')?.version ?? item.version;
}

async function versionLines(found: MarketplaceVersion): Promise<string[]> {
  const { name, summary, description, license, requires, status, reason, digest, content } = found;
  const field = (title: string, value: string | null): string[] =>
    value === null || value === '' ? [] : [`${title}: ${oneLine(value)}`];
  return [
    `${oneLine(name)}  ${oneLine(found.version)}  ${status}`,
    ...field('summary', summary),
    ...field('description', description),
    ...field('license', license),
    ...field('needs secrets', requires.secrets.join(', ')),
    ...field('needs agents', requires.agents.map(({ agent }) => agent).join(', ')),
    ...field('last reason', reason),
    `digest: ${digest}`,
    'content:',
    ...(await safeYaml(content)).split('\n').map((line) => `  ${line}`),
  ];
}

const reviewFlags = {
  version: text('Default: the latest that waits', 'VERSION'),
  digest: text('Digest of what you have looked at (cadenza market version)', 'DIGEST'),
};
const DETAILS =
  'Acts on the content that you have looked at, and on no other: on a terminal the version is shown, and ' +
  'you are asked; elsewhere --digest names it. Exits with 5 if the version has other content by now.';

export const approve = command({
  brief: 'Approve a version, so that everybody can install it; for admins',
  details: DETAILS,
  flags: reviewFlags,
  arguments: [ITEM],
  run: async (cli, flags, id) => {
    const body = await lookedAt(cli, id, flags, 'Approve');
    const item = await cli.client.call('approveMarketplaceItem', { path: { id }, body, signal: cli.signal });
    cli.say(`Approved ${item.name} ${body.version} with digest ${body.digest}.`);
    await cli.out.record(item, itemView);
  },
});

export const reject = command({
  brief: 'Reject a version, with a reason for the publisher; for admins',
  details: DETAILS,
  flags: reviewFlags,
  arguments: [ITEM, argument('REASON', 'Why')],
  run: async (cli, flags, id, reason) => {
    const body = { ...(await lookedAt(cli, id, flags, 'Reject')), reason };
    const item = await cli.client.call('rejectMarketplaceItem', { path: { id }, body, signal: cli.signal });
    cli.say(`Rejected ${item.name} ${body.version} with digest ${body.digest}.`);
    await cli.out.record(item, itemView);
  },
});

/**
 * The version to decide on, and the digest of what the admin has seen of it.
 * @throws CliError if they have seen nothing, or something else
 */
async function lookedAt(
  cli: Cli,
  id: string,
  { version: given, digest: seen }: { version: string | undefined; digest: string | undefined },
  verb: 'Approve' | 'Reject',
): Promise<{ version: string; digest: string; submitted_at: string }> {
  if (seen === undefined && !cli.isInteractive)
    throw usageError(
      `Look at it with cadenza market version ${id}, and give --digest of what you have seen.`,
    );
  const found = await readVersion(cli, id, given);
  const { version: number, digest, submitted_at } = found;
  if (seen === undefined) {
    for (const line of await versionLines(found)) cli.surroundings.stderr.write(`${line}\n`);
    await confirm(cli, `${verb} ${found.name} ${number} with digest ${digest}?`, undefined);
  } else if (seen !== digest)
    throw new CliError(`Version ${number} has other content by now, with digest ${digest}.`, {
      code: 'content_changed',
      exitCode: EXIT.conflict,
    });
  return { version: number, digest, submitted_at };
}
