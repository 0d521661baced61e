/** Chooses the server of an AsyncAPI document, of 2.x or 3.x, that a call uses. */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import { fieldsOf, listOf, shown, textOf, type ApiDocument, type Fields } from '../openapi/document.ts';
import { partAt, type Load, type Part } from '../openapi/references.ts';
import type { Target } from './protocol.ts';

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
  nats: { protocol: 'nats', secure: false },
  natss: { protocol: 'nats', secure: true },
  amqp: { protocol: 'amqp', secure: false },
  amqps: { protocol: 'amqp', secure: true },
  kafka: { protocol: 'kafka', secure: false },
  'kafka-secure': { protocol: 'kafka', secure: true },
};
const DEFAULT_PORTS: Readonly<Record<string, [plain: number, secure: number]>> = {
  mqtt: [1883, 8883],
  mqtt5: [1883, 8883],
  nats: [4222, 4222],
  amqp: [5672, 5671],
  kafka: [9092, 9093],
};
/** Addresses of one cluster of Kafka in a document. */
const MAX_HOSTS = 20;

type Server = Omit<Target, 'address' | 'bindings' | 'messageBindings'>;

interface Candidates {
  document: ApiDocument;
  /** The channel's own list, in its document; null if it may use every server. */
  servers: unknown[] | null;
  holder: ApiDocument;
}

interface WantedServer {
  server?: { name: string; variables: Fields };
  protocol?: string;
}

/** The named server; else the first that fits the protocol; else the first that can be called. */
export async function serverOf(
  { document, servers, holder }: Candidates,
  { server: named, protocol }: WantedServer,
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
  const described = candidates.map((part) => ({
    part,
    name: (textOf(part.value, 'protocol') ?? '').toLowerCase(),
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
      `${shown(document.url)} has no server that can be called for this: http, ws, mqtt, nats, amqp and ` +
        `kafka can, ${wanted === undefined ? '' : `${wanted} is wanted, `}its protocols are ${names}`,
    );
  }
  const security = await securityOf(chosen.part, document, load);
  return { ...addressed(chosen.part.value, known, named?.variables ?? {}, document), security };
}

/** Types of the security schemes: 2.x names them, 3.x has them or refers to them. */
async function securityOf({ value, document }: Part, main: ApiDocument, load: Load): Promise<string[]> {
  const schemes = fieldsOf(fieldsOf(main.root, 'components'), 'securitySchemes');
  const types: string[] = [];
  for (const given of listOf(value, 'security').slice(0, MAX_HOSTS)) {
    if (!isRecord(given)) continue;
    const isScheme = Object.hasOwn(given, '$ref') || typeof given['type'] === 'string';
    const named = isScheme ? [given] : Object.keys(given).map((name) => schemes[name]);
    for (const scheme of named.slice(0, MAX_HOSTS)) {
      const type = textOf((await partAt(scheme, isScheme ? document : main, load)).value, 'type');
      if (type !== undefined) types.push(type);
    }
  }
  return types;
}

function addressed(
  server: Fields,
  known: { protocol: string; secure: boolean },
  given: Fields,
  document: ApiDocument,
): Omit<Server, 'security'> {
  // 2.x has a URL, 3.x a host and a path.
  const described =
    textOf(server, 'url') ?? `${textOf(server, 'host') ?? ''}${textOf(server, 'pathname') ?? ''}`;
  const url = filled(described, fieldsOf(server, 'variables'), given, document);
  const [, scheme = '', named = '', path = ''] =
    /^(?:([a-z0-9+.-]+):\/\/)?([^/?#]*)([^?#]*)/i.exec(url) ?? [];
  // Whoever has an account in a document says so to everybody who reads it; it is not used.
  const authority = named.slice(named.lastIndexOf('@') + 1);
  // The name that NATS itself has for it.
  const secure = known.secure || (known.protocol === 'nats' && scheme.toLowerCase() === 'tls');
  const [plainPort, securePort] = DEFAULT_PORTS[known.protocol] ?? [80, 443];
  const port = secure ? securePort : plainPort;
  const authorities =
    known.protocol === 'kafka' ? authority.split(',').map((each) => each.trim()) : [authority];
  const hosts = authorities.map((each) => (/:\d+$/.test(each) ? each : `${each}:${port}`));
  if (hosts.length > MAX_HOSTS)
    throw fault('configuration', `${shown(document.url)}: the server has more than ${MAX_HOSTS} addresses`);
  if (authorities.includes('') || hosts.some((host) => !URL.canParse(`http://${host}`)))
    throw fault('configuration', `${shown(document.url)}: the server has no address`);
  return { protocol: known.protocol, secure, host: hosts.join(','), path: withoutEnd(path, '/') };
}

function filled(text: string, variables: Fields, given: Fields, document: ApiDocument): string {
  return text.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const variable = fieldsOf(variables, name);
    const value = given[name] ?? variable['default'] ?? listOf(variable, 'enum')[0];
    const allowed = listOf(variable, 'enum');
    if (typeof value !== 'string' && typeof value !== 'number')
      throw fault(
        'configuration',
        `${shown(document.url)}: the variable ${name} of the server needs a value`,
      );
    if (allowed.length > 0 && !allowed.includes(String(value)))
      throw fault('configuration', `The variable ${name} of the server must be one of ${allowed.join(', ')}`);
    return String(value);
  });
}
