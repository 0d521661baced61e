/** The marketplace. */
import { buildRouteMap } from '@stricli/core';

import type { MarketplaceItem, MissingParts, SubmitMarketplaceItemRequest } from '../../client/index.ts';
import { argument, command, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { choice, count, flag, text, texts } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { agentId, ofTeam, workflowId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago } from '../core/text.ts';
import { approve, ITEM, itemView, reject, version } from './market-review.ts';

const search = command({
  brief: 'Find approved items, and your own in any status',
  flags: {
    ...listFlags,
    kind: choice('Only these', ['agent', 'workflow']),
    status: choice('Only these', ['submitted', 'approved', 'rejected', 'withdrawn']),
    sort: choice('Order (default new)', ['new', 'installs', 'rating']),
    text: text('Text in the name, summary or description', 'TEXT'),
    category: text('In this category', 'CATEGORY'),
    tag: text('With this tag', 'TAG'),
    waiting: flag('Only what waits for a review; for admins'),
  },
  run: async (cli, { kind, status, sort, text: q, category, tag, waiting, ...flags }) => {
    await cli.requireLogIn();
    const isWaiting = waiting === true ? true : undefined;
    const query = { kind, status, sort, q, category, tag, waiting: isWaiting, ...pageOf(flags) };
    const items = cli.client.items('listMarketplaceItems', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), itemView);
  },
});

const get = command({
  brief: 'Show an item and what it needs',
  arguments: [ITEM],
  run: async (cli, _flags, id) => {
    await cli.out.record(await cli.client.call('getMarketplaceItem', { path: { id } }), {
      ...itemView,
      columns: [
        ...itemView.columns,
        ['summary', ({ summary }) => summary],
        ['needs secrets', ({ requires }) => requires?.secrets],
        ['needs agents', ({ requires }) => requires?.agents.map(({ agent }) => agent)],
        ['digest', ({ digest }) => digest],
        ['versions', ({ versions }) => versions.map(({ version, status }) => `${version} ${status}`)],
      ],
    } satisfies View<MarketplaceItem>);
  },
});

const submit = command({
  brief: 'Submit an own agent version or workflow revision for approval',
  flags: {
    version: text('Version of the agent or revision of the workflow; default: the current one', 'VERSION'),
    summary: text('One line', 'TEXT'),
    license: text('Such as MIT', 'LICENSE'),
    category: texts('Category', 'CATEGORY'),
    tag: texts('Tag', 'TAG'),
    includeAgents: flag('For a workflow: also submit the own private agents that it uses'),
  },
  arguments: [argument('KIND', 'agent or workflow'), argument('NAME', 'Name or id')],
  run: async (cli, { version, summary, license, category, tag, includeAgents }, kind, given) => {
    if (kind !== 'agent' && kind !== 'workflow') throw usageError('KIND is agent or workflow.');
    const id = kind === 'agent' ? await agentId(cli, given) : await workflowId(cli, given);
    const current = async (): Promise<string | number> =>
      kind === 'agent'
        ? await cli.client
            .call('getAgent', { path: { id } })
            .then((agent) => agent.published_version ?? agent.version)
        : (await cli.client.call('getWorkflow', { path: { id } })).revision;
    const named = kind === 'workflow' && version !== undefined ? Number(version) : version;
    const body: SubmitMarketplaceItemRequest = {
      kind,
      ref_id: id,
      version: named ?? (await current()),
      summary: summary ?? null,
      license: license ?? null,
      categories: category === undefined ? null : [...category],
      tags: tag === undefined ? null : [...tag],
      ...(includeAgents === true ? { include_agents: true } : {}),
    };
    await cli.out.record(
      await cli.client.call('submitMarketplaceItem', { body, signal: cli.signal }),
      itemView,
    );
  },
});

const install = command({
  brief: 'Install a copy of an item in your registry',
  flags: {
    bind: texts('A secret that the item needs, and the own secret that it gets', 'NAME=OWN'),
    team: text('For this team, with its secrets', 'TEAM'),
  },
  arguments: [ITEM],
  run: async (cli, { bind = [], team }, id) => {
    const secrets = Object.fromEntries(
      bind.map((pair) => {
        const at = pair.lastIndexOf('=');
        if (at < 1) throw usageError(`--bind ${pair} is not NAME=OWN.`);
        return [pair.slice(0, at), pair.slice(at + 1)];
      }),
    );
    const body = { secrets, ...(await ofTeam(cli, team)) };
    const installed = await cli.client.call('installMarketplaceItem', { path: { id }, body });
    for (const line of missingLines(installed.missing)) cli.say(line);
    await cli.out.record(installed, {
      columns: [
        ['kind', ({ kind }) => kind],
        ['name', ({ name }) => name],
        ['id', (one) => one.ref_id],
        ['version', ({ version }) => version],
        ['agents', ({ agents }) => agents.map(({ name }) => name)],
      ],
      name: (one) => one.ref_id,
    });
  },
});

const plan = command({
  brief: 'Show what an installation would use: secrets to bind, and agents',
  flags: { team: text('For this team', 'TEAM') },
  arguments: [ITEM],
  run: async (cli, { team }, id) => {
    const query = await ofTeam(cli, team);
    const call = { path: { id }, query, signal: cli.signal };
    const found = await cli.client.call('planMarketplaceInstall', call);
    await cli.out.record(found, {
      columns: [
        ['version', (one) => one.version],
        ['copy', ({ copy }) => copy && `you have it: ${copy.name}`],
        ['secrets', ({ secrets }) => secrets.map(({ name }) => name)],
        ['agents', ({ agents }) => agents.map(({ agent, use }) => `${agent} (${use})`)],
        ['digest', ({ digest }) => digest],
      ],
      name: (one) => one.version,
    });
  },
});

const missingLines = ({ secrets, agents, workflows }: MissingParts): string[] => [
  ...secrets.map((name) => `Missing secret ${name}: cadenza secret set ${name}`),
  ...agents.map(({ agent }) => `Missing agent ${agent}.`),
  ...workflows.map((workflow) => `Missing workflow ${workflow}.`),
];

const review = command({
  brief: 'Rate an item that you have installed',
  flags: { text: text('What you think of it', 'TEXT'), rating: count('From 1 to 5') },
  arguments: [ITEM],
  run: async (cli, { text: words, rating }, id) => {
    if (rating === undefined) throw usageError('Give --rating, from 1 to 5.');
    const body = { rating, text: words ?? null };
    await cli.out.value(await cli.client.call('reviewMarketplaceItem', { path: { id }, body }));
  },
});

const reviews = command({
  brief: 'List what people who installed an item say of it, newest first',
  flags: listFlags,
  arguments: [ITEM],
  run: async (cli, flags, id) => {
    const items = cli.client.items('listMarketplaceReviews', {
      path: { id },
      query: pageOf(flags),
      signal: cli.signal,
    });
    await cli.out.list(await collect(cli, items, flags), {
      columns: [
        ['rating', ({ rating }) => rating],
        ['by', ({ user }) => user.username],
        ['version', ({ version }) => version],
        ['changed', (one) => ago(one.updated_at)],
        ['text', ({ text: words }) => words],
      ],
      name: ({ id: reviewId }) => reviewId,
      wraps: true,
      none: 'No reviews.',
    });
  },
});

const withdraw = command({
  brief: 'Withdraw an item of yours; installed copies stay',
  flags: { yes: flag('Do not ask') },
  arguments: [ITEM],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Withdraw item ${id}?`, yes);
    await cli.client.call('withdrawMarketplaceItem', { path: { id }, signal: cli.signal });
    cli.say(`Withdrew item ${id}.`);
  },
});

const routes = {
  search,
  get,
  version,
  submit,
  withdraw,
  plan,
  install,
  review,
  reviews,
  approve,
  reject,
};

export const marketCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Marketplace: find, install, submit' },
});
