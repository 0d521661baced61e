/** Files. */
import { createWriteStream } from 'node:fs';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { buildRouteMap } from '@stricli/core';

import { apiErrorOf } from '../../client/problem.ts';
import { openUpload } from '../core/attach.ts';
import { argument, command, type Context } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { fileView } from '../core/files.ts';
import { choice, flag, seconds, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { ofTeam, startableId } from '../core/names.ts';
import { ago } from '../core/text.ts';

const list = command({
  brief: 'List files that you can see, newest first',
  flags: {
    ...listFlags,
    search: text('Part of the name', 'TEXT'),
    run: text('Files of this run', 'RUN'),
    team: text('Of this team', 'TEAM'),
  },
  run: async (cli, { search, run, team, ...flags }) => {
    await cli.requireLogIn();
    const items = cli.client.items('listFiles', {
      query: { q: search, run_id: run, ...(await ofTeam(cli, team)), ...pageOf(flags) },
      signal: cli.signal,
    });
    await cli.out.list(await collect(cli, items, flags), fileView);
  },
});

const upload = command({
  brief: 'Upload a file',
  flags: {
    name: text('Default: the name of the file', 'NAME'),
    type: text('Media type, such as text/csv. Default: by the extension', 'TYPE'),
    visibility: choice('Who can see it (default private)', ['private', 'public']),
    team: text('For this team', 'TEAM'),
    humanTask: text('For your decision of this human task, which needs no role builder', 'TASK'),
    workflow: text('For a run of this workflow that you start within a day', 'WORKFLOW'),
  },
  arguments: [argument('FILE', 'Path')],
  run: async (cli, { name = '', type, visibility, team, humanTask, workflow }, path) => {
    const body = await openUpload(path, type);
    const query = {
      name: name || basename(path),
      visibility,
      ...(await ofTeam(cli, team)),
      human_task: humanTask,
      workflow: workflow === undefined ? undefined : await startableId(cli, workflow),
    };
    await cli.out.record(await cli.client.call('uploadFile', { query, body, signal: cli.signal }), fileView);
  },
});

const download = command({
  brief: 'Download a file',
  flags: { to: text('Path; - for standard output. Default: the name of the file, here', 'PATH') },
  arguments: [argument('ID', 'Id of a file', 'file')],
  run: async (cli, { to }, id) => {
    const path = { id };
    const given = to ?? basename((await cli.client.call('getFile', { path, signal: cli.signal })).name);
    const response = await cli.session.fetch(`${cli.session.url}/files/${encodeURIComponent(id)}`, {
      signal: cli.signal,
    });
    if (!response.ok || response.body === null) throw await apiErrorOf(response);
    const content = Readable.fromWeb(response.body);
    if (given === '-') {
      for await (const chunk of content) cli.surroundings.stdout.write(chunk as Uint8Array);
      return;
    }
    // A name that the user has not chosen never replaces a file.
    const target = createWriteStream(given, { flags: to === undefined ? 'wx' : 'w' });
    await pipeline(content, target).catch((error: Error) => {
      throw new CliError(`Cannot write ${given}: ${error.message}`, { code: 'file_unwritable' });
    });
    cli.say(`Saved ${given}.`);
  },
});

const FILE = argument('ID', 'Id of a file', 'file');

const get = command({
  brief: 'Show what is known of a file',
  arguments: [FILE],
  run: async (cli, _flags, id) => {
    await cli.out.record(await cli.client.call('getFile', { path: { id }, signal: cli.signal }), fileView);
  },
});

const update = command({
  brief: 'Rename a file, or change who can see it',
  flags: {
    name: text('New name', 'NAME'),
    visibility: choice('Who can see it', ['private', 'public']),
  },
  arguments: [FILE],
  run: async (cli, { name, visibility }, id) => {
    if (name === undefined && visibility === undefined) throw usageError('Give --name or --visibility.');
    const body = {
      ...(name === undefined ? {} : { name }),
      ...(visibility === undefined ? {} : { visibility }),
    };
    const changed = await cli.client.call('updateFile', { path: { id }, body, signal: cli.signal });
    await cli.out.record(changed, fileView);
  },
});

const link = command({
  brief: 'Create a temporary link that downloads a file without a log-in',
  flags: { expires: seconds('How long it works, such as 1h') },
  arguments: [FILE],
  run: async (cli, { expires }, id) => {
    const body = expires === undefined ? {} : { expires_in: expires };
    const made = await cli.client.call('createFileLink', { path: { id }, body, signal: cli.signal });
    await cli.out.record(made, {
      columns: [
        ['url', ({ url }) => url],
        ['expires', ({ expires_at: at }) => ago(at)],
      ],
      name: ({ url }) => url,
    });
  },
});

const remove = command({
  brief: 'Delete a file',
  flags: { yes: flag('Do not ask') },
  arguments: [FILE],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Delete file ${id}?`, yes);
    await cli.client.call('deleteFile', { path: { id }, signal: cli.signal });
    cli.say(`Deleted file ${id}.`);
  },
});

const routes = { list, get, upload, download, update, link, delete: remove };

export const fileCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Files: upload, download, share' },
});
