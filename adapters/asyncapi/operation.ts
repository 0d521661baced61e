/** Finds in an AsyncAPI document, of 2.x or 3.x, where the messages of an operation go. */
import { pointerTokens } from '../../contracts/json-pointer.ts';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { fieldsOf, listOf, shown, textOf, type ApiDocument, type Fields } from '../openapi/document.ts';
import { partAt, type Load, type Part } from '../openapi/references.ts';
import type { Target } from './protocol.ts';

export interface AsyncOperation {
  target: Target;
  /** Where an inbound message has its correlation id: `$message.header#/…` or `$message.payload#/…`. */
  correlation: string | null;
}

export interface Wanted {
  channel?: string;
  operation?: string;
  server?: { name: string; variables: Fields };
  protocol?: string;
  action: 'send' | 'receive';
  /** The message to send, for parameters that are taken from it. */
  message: { payload: unknown; headers: unknown };
}

/** Names of a protocol in documents, with the protocol that implements it, and whether it uses TLS. */
const PROTOCOLS: Readonly<Record<string, { protocol: string; secure: boolean }>> = {
  http: { protocol: 'http', secure: false },
  https: { protocol: 'http', secure: true },
  ws: { protocol: 'ws', secure: false },
  wss: { protocol: 'ws', secure: true },
  mqtt: { protocol: 'mqtt', secure: false },
  mqtts: { protocol: 'mqtt', secure: true },
  'secure-mqtt': { protocol: 'mqtt', secure: true },
  mqtt5: { protocol: 'mqtt5', secure: false },
  mqtts5: { protocol: 'mqtt5', secure: true },
};
const DEFAULT_PORTS: Readonly<Record<string, [plain: number, secure: number]>> = {
  mqtt: [1883, 8883],
  mqtt5: [1883, 8883],
};
/** A level of a topic whose parameter nobody names, in a subscription. */
const ANY_LEVEL: Readonly<Record<string, string>> = { mqtt: '+', mqtt5: '+' };

/** The place of an operation in a document, before a server is chosen. */
interface Place {
  document: ApiDocument;
  /** The address with its parameters. */
  address: string;
  parameters: Fields;
  bindings: Fields;
  /** The channel's own list; null if it may use every server. */
  servers: unknown[] | null;
  messages: unknown[];
}

export async function findAsyncOperation(
  document: ApiDocument,
  wanted: Wanted,
  load: Load,
): Promise<AsyncOperation> {
  const version = textOf(document.root, 'asyncapi') ?? '';
  if (!/^[23]\./.test(version))
    throw fault('configuration', `${shown(document.url)} is not an AsyncAPI document of version 2 or 3`);
  const place = version.startsWith('2.')
    ? await placeInVersion2(document, wanted, load)
    : await placeInVersion3(document, wanted, load);
  const server = await serverOf(document, place, wanted, load);
  const address = await addressOf(place, wanted, server.protocol, load);
  const bindings = fieldsOf(place.bindings, server.protocol === 'mqtt5' ? 'mqtt' : server.protocol);
  return { target: { ...server, address, bindings }, correlation: await correlationOf(place, load) };
}

async function placeInVersion2(document: ApiDocument, wanted: Wanted, load: Load): Promise<Place> {
  const channels = fieldsOf(document.root, 'channels');
  const own = wanted.action === 'send' ? 'publish' : 'subscribe';
  const found = Object.entries(channels).flatMap(([name, channel]) =>
    isRecord(channel) ? [{ name, channel }] : [],
  );
  const chosen =
    wanted.channel === undefined
      ? found.find(({ channel }) =>
          ['publish', 'subscribe'].some(
            (key) => textOf(fieldsOf(channel, key), 'operationId') === wanted.operation,
          ),
        )
      : found.find(({ name }) => trimmed(name) === trimmed(wanted.channel ?? ''));
  if (chosen === undefined)
    throw nothing(
      document,
      wanted,
      found.map(({ name }) => name),
    );
  const { value: channel } = await partAt(chosen.channel, document, load);
  const operation = fieldsOf(channel, own);
  if (wanted.channel !== undefined && !Object.hasOwn(channel, own))
    throw fault(
      'configuration',
      `${shown(document.url)}: the channel ${JSON.stringify(wanted.channel)} has no ${own} operation`,
    );
  const message = fieldsOf(operation, 'message');
  return {
    document,
    address: chosen.name,
    parameters: fieldsOf(channel, 'parameters'),
    bindings: { ...fieldsOf(channel, 'bindings'), ...fieldsOf(operation, 'bindings') },
    servers: Array.isArray(channel['servers'])
      ? channel['servers'].map((name) => fieldsOf(document.root, 'servers')[String(name)])
      : null,
    messages: listOf(message, 'oneOf').length > 0 ? listOf(message, 'oneOf') : [message],
  };
}

async function placeInVersion3(document: ApiDocument, wanted: Wanted, load: Load): Promise<Place> {
  const kind = wanted.operation === undefined ? 'channels' : 'operations';
  const all = fieldsOf(document.root, kind);
  const name = wanted.operation ?? wanted.channel ?? '';
  if (!Object.hasOwn(all, name)) throw nothing(document, wanted, Object.keys(all));
  const named = await partAt(all[name], document, load);
  const channel: Part =
    kind === 'channels' ? named : await partAt(named.value['channel'], named.document, load);
  const address = textOf(channel.value, 'address');
  if (address === undefined)
    throw fault(
      'configuration',
      `${shown(document.url)}: the channel of ${JSON.stringify(name)} has no address`,
    );
  const messages = kind === 'operations' ? listOf(named.value, 'messages') : [];
  return {
    document: channel.document,
    address,
    parameters: fieldsOf(channel.value, 'parameters'),
    bindings: {
      ...fieldsOf(channel.value, 'bindings'),
      ...(kind === 'operations' ? fieldsOf(named.value, 'bindings') : {}),
    },
    servers: Array.isArray(channel.value['servers']) ? channel.value['servers'] : null,
    messages: messages.length > 0 ? messages : Object.values(fieldsOf(channel.value, 'messages')),
  };
}

function nothing(document: ApiDocument, { channel, operation }: Wanted, known: string[]): Error {
  const wanted =
    channel === undefined ? `operation ${JSON.stringify(operation)}` : `channel ${JSON.stringify(channel)}`;
  const list = known.slice(0, 20).join(', ');
  return fault(
    'configuration',
    `${shown(document.url)} has no ${wanted}${list === '' ? '' : `; it has ${list}`}`,
  );
}

function trimmed(address: string): string {
  return address.replace(/^\/+/, '');
}

type Server = Omit<Target, 'address' | 'bindings'>;

/** The named server; else the first that fits the protocol; else the first that can be called. */
async function serverOf(
  document: ApiDocument,
  { servers, document: holder }: Place,
  { server: named, protocol }: Wanted,
  load: Load,
): Promise<Server> {
  const all = fieldsOf(document.root, 'servers');
  if (named !== undefined && !Object.hasOwn(all, named.name)) {
    const known = Object.keys(all).join(', ');
    throw fault(
      'configuration',
      `${shown(document.url)} has no server ${JSON.stringify(named.name)}; it has ${known}`,
    );
  }
  const candidates =
    named === undefined
      ? await Promise.all((servers ?? Object.values(all)).map((server) => partAt(server, holder, load)))
      : [await partAt(all[named.name], document, load)];
  const described = candidates.map(({ value }) => ({
    value,
    name: (textOf(value, 'protocol') ?? '').toLowerCase(),
  }));
  const wanted = named === undefined ? protocol : undefined;
  const fits = ({ name }: { name: string }): boolean =>
    wanted === undefined
      ? Object.hasOwn(PROTOCOLS, name)
      : name === wanted || (PROTOCOLS[name]?.protocol ?? name) === wanted;
  const chosen = described.find(fits);
  const known = chosen === undefined ? undefined : PROTOCOLS[chosen.name];
  if (chosen === undefined || known === undefined) {
    const names = described.map(({ name }) => name).join(', ') || 'none';
    throw fault(
      'configuration',
      `${shown(document.url)} has no server that can be called for this: http, ws and mqtt can, ` +
        `${wanted === undefined ? '' : `${wanted} is wanted, `}its protocols are ${names}`,
    );
  }
  return addressed(chosen.value, known, named?.variables ?? {}, document);
}

function addressed(
  server: Fields,
  known: { protocol: string; secure: boolean },
  given: Fields,
  document: ApiDocument,
): Server {
  const variables = fieldsOf(server, 'variables');
  const filled = (text: string): string =>
    text.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
      const variable = fieldsOf(variables, name);
      const value = given[name] ?? variable['default'] ?? listOf(variable, 'enum')[0];
      const allowed = listOf(variable, 'enum');
      if (typeof value !== 'string' && typeof value !== 'number')
        throw fault(
          'configuration',
          `${shown(document.url)}: the variable ${name} of the server needs a value`,
        );
      if (allowed.length > 0 && !allowed.includes(String(value)))
        throw fault(
          'configuration',
          `The variable ${name} of the server must be one of ${allowed.join(', ')}`,
        );
      return String(value);
    });
  // 2.x has a URL, 3.x a host and a path.
  const url = filled(
    textOf(server, 'url') ?? `${textOf(server, 'host') ?? ''}${textOf(server, 'pathname') ?? ''}`,
  );
  const [, authority = '', path = ''] = /^(?:[a-z0-9+.-]+:\/\/)?([^/?#]*)([^?#]*)/i.exec(url) ?? [];
  const [plain, secure] = DEFAULT_PORTS[known.protocol] ?? [80, 443];
  const port = known.secure ? secure : plain;
  const host = /:\d+$/.test(authority) ? authority : `${authority}:${port}`;
  if (authority === '' || !URL.canParse(`http://${host}`))
    throw fault('configuration', `${shown(document.url)}: the server has no address`);
  return { ...known, host, path: path.replace(/\/+$/, '') };
}

/** Parameters of the address: from the message, else the default, else any in a subscription. */
async function addressOf(
  { address, parameters, document }: Place,
  { action, message }: Wanted,
  protocol: string,
  load: Load,
): Promise<string> {
  let filled = address;
  for (const [whole, name = ''] of address.matchAll(/\{([^{}]+)\}/g)) {
    const { value: parameter } = await partAt(parameters[name], document, load);
    const location = textOf(parameter, 'location');
    const found = action === 'send' && location !== undefined ? valueAt(location, message) : undefined;
    const value =
      found ?? textOf(parameter, 'default') ?? (action === 'receive' ? ANY_LEVEL[protocol] : undefined);
    if (typeof value !== 'string' && typeof value !== 'number')
      throw fault(
        'configuration',
        `${shown(document.url)}: the parameter ${name} of ${address} has no value`,
      );
    // A value that brings more levels could lead elsewhere.
    if (/[/#+*>?\s]/.test(String(value)) && value !== ANY_LEVEL[protocol])
      throw fault(
        'validation',
        `The parameter ${name} of ${address} has a value that is no part of an address`,
      );
    filled = filled.replace(whole, () => String(value));
  }
  return filled;
}

/** AsyncAPI "Runtime Expression": `$message.header#/…`, `$message.payload#/…`. */
export function valueAt(location: string, message: { payload: unknown; headers: unknown }): unknown {
  const [, part = '', pointer = ''] = /^\$message\.(header|payload)(?:#(.*))?$/.exec(location) ?? [];
  if (part === '') return undefined;
  let value: unknown = part === 'header' ? message.headers : message.payload;
  for (const name of pointerTokens(pointer)) {
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Fields)[name]
        : undefined;
  }
  return value;
}

async function correlationOf({ messages, document }: Place, load: Load): Promise<string | null> {
  for (const message of messages.slice(0, 50)) {
    const { value, document: holder } = await partAt(message, document, load);
    const { value: correlation } = await partAt(value['correlationId'], holder, load);
    const location = textOf(correlation, 'location');
    if (location !== undefined) return location;
  }
  return null;
}
