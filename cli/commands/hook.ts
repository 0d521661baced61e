/** Inbound webhooks: addresses to which other services send theirs. */
import { buildRouteMap } from '@stricli/core';

import { HOOK_SCHEMES } from '../../contracts/hooks.ts';
import { argument, command, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { hookView } from '../core/event-views.ts';
import { choice, flag, seconds, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, ownerFlag, pageOf } from '../core/lists.ts';
import { ofOwner, ofTeam } from '../core/names.ts';

const HOOK = argument('HOOK', 'Id of an inbound webhook', 'hook');

const tolerance = seconds('How old, or ahead, the time of a signature may be, such as 5m');

const list = command({
  brief: 'List your inbound webhooks and those of your teams; admins see those of all users',
  flags: { ...listFlags, team: text('Only of this team', 'TEAM'), owner: ownerFlag },
  run: async (cli, { team, owner, ...flags }) => {
    await cli.requireLogIn();
    const query = { ...pageOf(flags), ...(await ofTeam(cli, team)), ...(await ofOwner(cli, owner)) };
    const items = cli.client.items('listHooks', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), hookView);
  },
});

const get = command({
  brief: 'Show an inbound webhook',
  arguments: [HOOK],
  run: async (cli, _flags, id) => {
    await cli.out.record(await cli.client.call('getHook', { path: { id }, signal: cli.signal }), hookView);
  },
});

const create = command({
  brief: 'Create an address for the webhooks of another service',
  flags: {
    scheme: choice('How the service signs', HOOK_SCHEMES),
    secret: text('Name of your secret with the signing key', 'NAME'),
    type: text('Type of the events; default: from the call', 'TYPE'),
    source: text('Source of the events; default: the address', 'URI'),
    tolerance,
    team: text('For this team, with its secrets', 'TEAM'),
  },
  arguments: [argument('NAME', 'What it is for')],
  run: async (cli, { scheme, secret, type, source, tolerance: age, team }, name) => {
    if (scheme === undefined || secret === undefined) throw usageError('Give --scheme and --secret.');
    const body = {
      name,
      scheme,
      secret,
      event_type: type ?? null,
      source: source ?? null,
      ...(age === undefined ? {} : { tolerance_seconds: age }),
      ...(await ofTeam(cli, team)),
    };
    await cli.out.record(await cli.client.call('createHook', { body, signal: cli.signal }), hookView);
  },
});

const update = command({
  brief: 'Change an inbound webhook: rotate its secret, turn it on or off',
  flags: {
    name: text('What it is for', 'NAME'),
    secret: text('Name of the new secret; the old one stays valid until --done', 'NAME'),
    done: flag('End a rotation: only the current secret is valid'),
    on: flag('Take calls'),
    off: flag('Refuse all calls'),
    type: text('Type of the events', 'TYPE'),
    source: text('Source of the events', 'URI'),
    tolerance,
  },
  arguments: [HOOK],
  run: async (cli, { secret, done, on, off, name, type, source, tolerance: age }, id) => {
    if (on === true && off === true) throw usageError('Give --on or --off.');
    if ([secret, done, on, off, name, type, source, age].every((one) => one === undefined))
      throw usageError('Give a flag with what changes.');
    const path = { id };
    const { record, etag } = await cli.client.tagged('getHook', { path, signal: cli.signal });
    const { secret: current } = record;
    const body = {
      // The same command again must not make the new secret the old one too.
      ...(secret === undefined || secret === current ? {} : { secret, former_secret: current }),
      ...(done === true ? { former_secret: null } : {}),
      ...(on === true || off === true ? { active: on === true } : {}),
      ...(name === undefined ? {} : { name }),
      ...(type === undefined ? {} : { event_type: type }),
      ...(source === undefined ? {} : { source }),
      ...(age === undefined ? {} : { tolerance_seconds: age }),
    };
    // Of two rotations at once, the second would forget the secret of the first.
    const headers = secret === undefined || etag === null ? {} : { 'if-match': etag };
    const changed = await cli.client.call('updateHook', { path, body, headers, signal: cli.signal });
    await cli.out.record(changed, hookView);
  },
});

const remove = command({
  brief: 'Delete an inbound webhook',
  flags: { yes: flag('Do not ask') },
  arguments: [HOOK],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Delete inbound webhook ${id}?`, yes);
    await cli.client.call('deleteHook', { path: { id }, signal: cli.signal });
    cli.say(`Deleted inbound webhook ${id}.`);
  },
});

const routes = { list, get, create, update, delete: remove };

export const hookCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Inbound webhooks: addresses for the webhooks of other services' },
});
