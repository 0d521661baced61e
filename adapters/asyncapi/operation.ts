/** Finds in an AsyncAPI document, of 2.x or 3.x, where the messages of an operation go. */
import { pointerTokens } from '../../contracts/json-pointer.ts';
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { fieldsOf, listOf, shown, textOf, type ApiDocument, type Fields } from '../openapi/document.ts';
import { partAt, type Load, type Part } from '../openapi/references.ts';
import { serverOf } from './server.ts';
import type { Target } from './protocol.ts';

/** Descriptions of messages that are looked at. */
const MAX_MESSAGES = 50;
/** A level of a topic whose parameter nobody names, in a subscription. */
const ANY_LEVEL: Readonly<Record<string, string>> = { mqtt: '+', mqtt5: '+', nats: '*', amqp: '*' };
/** What a value of a parameter must not have: more levels could lead elsewhere. */
const NO_PART = /[/#+*>?\s]/;
const NO_PART_BY_POINTS = /[./#+*>?\s]/;

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

/** A value that may be a reference, with the document that it is in. */
interface Located {
  value: unknown;
  document: ApiDocument;
}

/** The place of an operation in a document, before a server is chosen. */
interface Place {
  document: ApiDocument;
  /** The address with its parameters. */
  address: string;
  parameters: Fields;
  /** Of the channel and of the operation; the later ones go over the earlier ones. */
  bindings: Located[];
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
  const server = await serverOf({ document, servers: place.servers, holder: place.document }, wanted, load);
  const address = await addressOf(place, wanted, server.protocol, load);
  const parts = await messageParts(place, load);
  const bindings = await bindingsFor(server.protocol, place.bindings, load);
  const own = parts.slice(0, 1).map((part) => ({ value: part.value['bindings'], document: part.document }));
  const messageBindings = await bindingsFor(server.protocol, own, load);
  const correlation = await correlationOf(parts, load);
  return { target: { ...server, address, bindings, messageBindings }, correlation };
}

/** All for one protocol, in one object. */
async function bindingsFor(protocol: string, all: readonly Located[], load: Load): Promise<Fields> {
  const found: Fields[] = [];
  for (const each of all) {
    const { value, document: holder } = await partAt(each.value, each.document, load);
    found.push((await partAt(value[protocol === 'mqtt5' ? 'mqtt' : protocol], holder, load)).value);
  }
  return Object.assign({}, ...found) as Fields;
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
    bindings: [channel['bindings'], operation['bindings']].map((value) => ({ value, document })),
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
    bindings: [channel, ...(kind === 'operations' ? [named] : [])].map((part) => ({
      value: part.value['bindings'],
      document: part.document,
    })),
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
    const refused = protocol === 'nats' || protocol === 'amqp' ? NO_PART_BY_POINTS : NO_PART;
    if (refused.test(String(value)) && value !== ANY_LEVEL[protocol])
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

/** The messages that are described, a bounded number of them. */
async function messageParts({ messages, document }: Place, load: Load): Promise<Part[]> {
  const parts: Part[] = [];
  for (const message of messages.slice(0, MAX_MESSAGES)) parts.push(await partAt(message, document, load));
  return parts;
}

async function correlationOf(messages: readonly Part[], load: Load): Promise<string | null> {
  for (const { value, document } of messages) {
    const { value: correlation } = await partAt(value['correlationId'], document, load);
    const location = textOf(correlation, 'location');
    if (location !== undefined) return location;
  }
  return null;
}
