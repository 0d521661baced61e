/** Any endpoint of the API. */
import { apiErrorOf } from '../../client/problem.ts';
import type { Cli } from '../core/cli.ts';
import { argument, command } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { count, flag, refuseFlags, sets, text, texts } from '../core/flags.ts';
import { readForm } from '../core/form.ts';
import { readDocument } from '../core/input.ts';

const MAX_PAGES = 100;

export const apiCommand = command({
  brief: 'Call any endpoint of the API',
  details: 'The reference of the endpoints is at /docs of the server.',
  flags: {
    // What the API refuses is named as in the body that was written.
    file: sets(text('Body: a file of JSON or YAML, - for standard input', 'FILE')),
    input: sets(texts('Field of the body', 'NAME=VALUE')),
    header: sets(texts('Header of the request', 'NAME:VALUE')),
    paginate: flag('Follow the pages of a list, and print one array'),
    maxPages: count(`With --paginate: stop with an error after this many pages (default ${MAX_PAGES})`),
  },
  letters: { f: 'file', i: 'input' },
  arguments: [argument('METHOD', 'Such as GET'), argument('PATH', 'Such as /runs?status=waiting')],
  run: async (cli, flags, method, path) => {
    if (flags.paginate !== true) refuseFlags(flags, ['maxPages'], 'without --paginate');
    const body =
      flags.input === undefined && flags.file !== undefined
        ? await readDocument(cli, flags.file)
        : await readForm(cli, { pairs: flags.input, file: flags.file }, {});
    const request = { method: method.toUpperCase(), headers: headersOf(flags.header), body };
    if (!/^[A-Z]+$/.test(request.method)) throw usageError(`${method} is no method.`);
    if (flags.paginate !== true) return print(cli, await requestApi(cli, path, request));
    await cli.out.value(await allPages(cli, path, request, flags.maxPages ?? MAX_PAGES));
  },
});

interface ApiRequest {
  method: string;
  headers: Record<string, string>;
  body: unknown;
}

async function requestApi(cli: Cli, path: string, { method, headers, body }: ApiRequest): Promise<Response> {
  const url = URL.canParse(path) ? path : `${cli.session.url}/${path.replace(/^\/+/, '')}`;
  // The session's token goes with the request.
  if (new URL(url).origin !== new URL(cli.session.url).origin)
    throw usageError(`${url} is not at ${cli.session.url}.`);
  const response = await cli.session.fetch(url, {
    method,
    signal: cli.signal,
    headers: {
      accept: '*/*',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw await apiErrorOf(response);
  return response;
}

async function print(cli: Cli, response: Response): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (response.status === 204 || type === '') return;
  if (/^[^;]*\bjson\b/.test(type)) return cli.out.value(await response.json());
  if (/^text\/|\+xml|\byaml\b/.test(type)) {
    if (response.body === null) return;
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) cli.out.raw(chunk);
    return;
  }
  cli.surroundings.stdout.write(new Uint8Array(await response.arrayBuffer()));
}

async function allPages(cli: Cli, path: string, request: ApiRequest, most: number): Promise<unknown[]> {
  const all: unknown[] = [];
  let next: string | undefined = path;
  for (let pages = 0; next !== undefined; pages++) {
    if (pages === most)
      throw new CliError(`The list has more than ${most} pages. Raise --max-pages, or narrow the list.`, {
        code: 'too_many_pages',
      });
    const response = await requestApi(cli, next, request);
    const page: unknown = await response.json().catch(() => null);
    if (!Array.isArray(page)) throw usageError(`${path} is no list.`);
    all.push(...(page as unknown[]));
    next = nextPage(cli, path, response.headers.get('link'));
  }
  return all;
}

/** The cursor of `Link` with the path that was asked for: a proxy may know the server by another name. */
function nextPage(cli: Cli, path: string, link: string | null): string | undefined {
  const found = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(link ?? '')?.[1];
  const cursor = found && new URL(found, cli.session.url).searchParams.get('cursor');
  if (!cursor) return undefined;
  const [before = '', query = ''] = path.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `${before}?${parameters.toString()}`;
}

/** RFC 9110, section 5. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function headersOf(given: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    given.map((header) => {
      const at = header.indexOf(':');
      if (at < 1) throw usageError(`${header} is not NAME:VALUE.`);
      const [name, value] = [header.slice(0, at).trim().toLowerCase(), header.slice(at + 1).trim()];
      // Without the value, which may be a secret.
      if (!NAME.test(name) || !VALUE.test(value)) throw usageError(`No header can have this: ${name}.`);
      return [name, value];
    }),
  );
}
