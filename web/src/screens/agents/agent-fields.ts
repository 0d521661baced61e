/** The fields of an agent's form, by its kind: docs/agents.md. */
import type { Agent, CreateAgentRequest } from '../../../../client/index.ts';
import { showable, type Section } from '../../ui/form-sections.ts';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { words } from './words.ts';

/** `framework` is an execution type, the others are types. */
export type Kind = CreateAgentRequest['type'] | 'framework';
export type Authentication = NonNullable<CreateAgentRequest['authentication_type']>;

/** A word of the form's fields: its label, and a text below it. */
const text = (title: string, description?: string): Schema => ({
  type: 'string',
  title,
  ...(description === undefined ? {} : { description }),
});
const long = (title: string, description?: string): Schema => ({
  ...text(title, description),
  maxLength: 100_000,
});
const lines = (title: string, description = 'One a line.'): Schema => ({
  type: 'array',
  items: { type: 'string' },
  title,
  description,
});
const object = (title: string, description?: string): Schema => ({
  ...text(title, description),
  type: 'object',
});
const choice = (title: string, values: readonly string[], description?: string): Schema => ({
  title,
  enum: values,
  ...(description === undefined ? {} : { description }),
});

const timeout = text('Time limit', 'Such as PT30S.');
const headers = object('Headers', 'A JSON object.');

const AUDIO_FORMATS = ['json', 'verbose_json', 'text', 'mp3', 'wav', 'pcm', 'opus', 'aac', 'flac'];

/** How a model is reached: docs/models.md. */
const MODEL: Record<string, Schema> = {
  base_url: text('Address', 'Of an OpenAI-compatible API. Default: that of the provider.'),
  model: text('Model'),
  api_key: text('API key', 'The name of a secret, as <NAME>.'),
  resource: text('Resource'),
  deployment: text('Deployment', 'Default: the model.'),
  api_version: text('API version'),
  region: text('Region'),
  access_key_id: text('Access key id', 'The name of a secret, as <NAME>.'),
  secret_access_key: text('Secret access key', 'The name of a secret, as <NAME>.'),
};

/** For the provider that has none. */
const OWN_ADDRESS = text('Address', 'Of an OpenAI-compatible API.');

/** The fields that one provider needs, and no other. */
const OF_PROVIDER: Readonly<Record<string, readonly string[]>> = {
  azure: ['resource', 'deployment', 'api_version'],
  bedrock: ['region', 'access_key_id', 'secret_access_key'],
};
/** Kinds whose model a provider serves. */
export const HAS_PROVIDER: readonly Kind[] = ['llm', 'vision'];
export const STANDARD_PROVIDER = 'openai-compatible';

const CONFIGURATIONS: Partial<Record<Kind, Record<string, Schema>>> = {
  api: {
    endpoint: text('Address', '{name} is replaced with that field of the input.'),
    method: choice('Method', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'], 'POST unless you choose.'),
    headers,
    query: object('Query', 'A JSON object.'),
    body: {
      title: 'Body',
      description: 'JSON; texts may contain ${ … } over the input. Default: the input.',
    },
    response: long('Result', 'jq on the content of the answer. Default: the content.'),
    files: choice('Files are sent as', ['link', 'base64', 'multipart', 'body']),
    timeout,
  },
  llm: {
    ...MODEL,
    system: long('System message'),
    prompt: long('Prompt', 'May contain ${ … } over the input. Default: the input itself.'),
    temperature: { type: 'number', minimum: 0, title: 'Temperature' },
    max_tokens: { type: 'integer', minimum: 1, title: 'Tokens at most' },
    structured_output: choice('Structured output', ['json_schema', 'json_object', 'none']),
    tools: {
      type: 'array',
      title: 'Tools',
      description:
        'A JSON list, such as [{"agent": "search"}, {"agent": "pay", "approval": ".amount > 50"}].',
    },
    max_turns: { type: 'integer', minimum: 1, title: 'Turns at most', description: '10 unless you say.' },
    max_total_tokens: { type: 'integer', minimum: 1, title: 'Tokens of all turns at most' },
    max_cost_usd: { type: 'number', title: 'Cost at most, in US dollars' },
    on_exceed: choice('At a limit', ['stop', 'ask'], 'stop unless you choose.'),
    headers,
    timeout,
  },
  vision: {
    ...MODEL,
    images: text('Images', 'jq on the input that gives files or URLs. Default: all in the input.'),
    system: long('System message'),
    prompt: long('Question', 'May contain ${ … } over the input. Default: what the input says.'),
    max_tokens: { type: 'integer', minimum: 1, title: 'Tokens at most' },
    structured_output: choice('Structured output', ['json_schema', 'json_object', 'none']),
    headers,
    timeout,
  },
  audio: {
    base_url: OWN_ADDRESS,
    model: text('Model'),
    task: choice('Task', ['transcribe', 'speak']),
    api_key: text('API key', 'The name of a secret, as <NAME>.'),
    format: choice(
      'Format',
      [...AUDIO_FORMATS],
      'Of the transcript: json, verbose_json, text; else of the sound.',
    ),
    language: text('Language', 'Such as de.'),
    voice: text('Voice', 'Of speech.'),
    text: long('What to say', 'May contain ${ … } over the input. Default: the input.'),
    instructions: long('How to say it'),
    prompt: long('Words to expect', 'Names in a recording, for example.'),
    part_seconds: {
      type: 'number',
      minimum: 10,
      title: 'Seconds of a part',
      description: '1200 unless you choose.',
    },
    headers,
    timeout,
  },
  a2a: {
    card_url: text('Address of the card', 'Default: found below the URL of the agent.'),
    binding: choice('Binding', ['JSONRPC', 'HTTP+JSON', 'GRPC'], 'Default: the first of the card.'),
    accepted_output_modes: lines('Accepted media types', 'One a line. Default: all.'),
    headers,
    metadata: object('Metadata', 'Sent with each message, a JSON object.'),
    timeout,
  },
  docker: {
    image: text('Image'),
    command: lines('Command', 'Arguments of the entry point, one a line.'),
    entrypoint: lines('Entry point', "One word a line. Default: the image's own."),
    env: object('Environment', 'A JSON object; texts may contain ${ … } over the input, and <SECRET>.'),
    input: choice('Input comes', ['stdin', 'file', 'args'], 'On standard input unless you choose.'),
    output: choice('Output comes from', ['stdout', 'file'], 'Standard output unless you choose.'),
    network: { type: 'boolean', title: 'Network', description: 'If this installation allows it.' },
    memory: text('Memory', 'Such as 256m.'),
    cpus: { type: 'number', exclusiveMinimum: 0, title: 'CPUs' },
    pids: { type: 'integer', minimum: 1, title: 'Processes at most' },
    user: text('User', 'Numbers of a user and a group other than root, such as 1000:1000.'),
    pull: choice('Pull the image', ['missing', 'always', 'never']),
    timeout,
  },
  sensor: {
    broker: text('Broker', 'mqtt://, mqtts://, ws:// or wss://.'),
    topic: text('Topic', 'Of the readings. {name} is replaced with that field of the input, in every topic.'),
    mode: choice('Mode', ['latest', 'window', 'request'], 'The latest reading unless you choose.'),
    window: text('Window', 'How long to collect readings or to wait for one, such as PT10S.'),
    command_topic: text('Topic of commands'),
    reply_topic: text('Topic of replies'),
    availability_topic: text(
      'Topic of availability',
      'Where the device or its last will says online or offline.',
    ),
    value: long('Value', 'jq on a message. Default: the message.'),
    aggregate: { type: 'boolean', title: 'Figures only', description: 'Of a window: count, min, max, avg.' },
    payload: { title: 'Command', description: 'JSON; texts may contain ${ … }. Default: the input.' },
    username: text('User name'),
    password: text('Password', 'The name of a secret, as <NAME>.'),
    qos: { type: 'integer', minimum: 0, maximum: 2, title: 'QoS' },
    protocol: choice('Protocol', ['mqtt5', 'mqtt'], 'MQTT 5 unless you choose MQTT 3.1.1.'),
    timeout,
  },
  framework: {
    framework: choice('Framework', ['langgraph', 'mcp']),
    base_url: text('Address', 'Of the LangGraph server, or the endpoint of the MCP server.'),
    assistant_id: text('Assistant', 'LangGraph: its id, or the name of a graph.'),
    tool: text('Tool', 'MCP: the only tool. Default: the skill that a call names.'),
    api_key: text('API key', 'The name of a secret, as <NAME>.'),
    config: object('Configuration of runs', 'LangGraph: a JSON object; texts may contain ${ … }.'),
    headers,
    timeout,
  },
  workflow: {
    workflow_id: text('Workflow'),
    revision: { type: 'integer', minimum: 1, title: 'Revision', description: 'Default: the current one.' },
  },
};

const REQUIRED: Partial<Record<Kind, readonly string[]>> = {
  audio: ['model', 'task'],
  workflow: ['workflow_id'],
  docker: ['image'],
  sensor: ['broker'],
  framework: ['framework'],
};

/** Addresses that the URL of the agent can replace. A new agent has no field for that. */
const ADDRESSES: Partial<Record<Kind, string>> = {
  api: 'endpoint',
  audio: 'base_url',
  framework: 'base_url',
};

const CREDENTIALS: Record<Authentication, Record<string, Schema>> = {
  none: {},
  api_key: {
    api_key: text('API key'),
    in: choice('Sent in', ['header', 'query', 'cookie']),
    name: text('Name', 'X-API-Key unless you name another.'),
    prefix: text('Prefix'),
  },
  jwt: { token: text('Token') },
  oauth: {
    token_url: text('Token address'),
    client_id: text('Client id'),
    client_secret: text('Client secret'),
    scopes: lines('Scopes'),
    audience: text('Audience'),
  },
};

interface Given {
  kind: Kind;
  /** Of a model. */
  provider?: string;
  authentication: Authentication;
  /** Workflows to choose from, by id. */
  workflows: readonly { id: string; name: string }[];
  agent: Agent | null;
}

export function agentSections({
  kind,
  provider = STANDARD_PROVIDER,
  authentication,
  workflows,
  agent,
}: Given): Section[] {
  return [
    {
      id: 'agent',
      title: words.sections.agent,
      member: '',
      values: agent,
      schema: recordSchema(kind, agent),
    },
    HAS_PROVIDER.includes(kind)
      ? ofProvider(configurationSection(kind, workflows, agent), provider, agent)
      : configurationSection(kind, workflows, agent),
    ...credentials(authentication, agent),
    {
      id: 'exchange',
      title: words.sections.exchange,
      member: '',
      values: agent,
      schema: {
        type: 'object',
        properties: {
          input_schema: object('Input schema', 'JSON Schema. The form to try the agent comes from it.'),
          output_schema: object('Output schema', 'JSON Schema. Answers that do not match it are errors.'),
        },
      },
    },
    { id: 'more', title: words.sections.more, member: '', values: agent, schema: moreSchema },
  ];
}

/** An agent of a kind with an address needs no URL: it has a field only if it has one. */
function recordSchema(kind: Kind, agent: Agent | null): Schema {
  const { endpoint, base_url: base } = CONFIGURATIONS[kind] ?? {};
  const hasAddress = endpoint !== undefined || base !== undefined;
  const exists = agent !== null;
  const asksUrl = kind !== 'workflow' && (!hasAddress || hasUrl(agent));
  const url = text(
    'URL',
    `Where the agent is.${hasAddress ? ' An address below, if there is one, is called instead.' : ''}`,
  );
  return {
    type: 'object',
    required: ['name', 'version', 'visibility'],
    properties: {
      name: { ...text('Name'), maxLength: 200 },
      version: {
        ...text('Version', exists ? 'A published version does not change: name a higher one.' : undefined),
        default: '1.0.0',
      },
      visibility: { ...choice('Visibility', ['private', 'public']), default: 'private' },
      ...(exists ? { status: choice('Status', ['active', 'inactive', 'deprecated']) } : {}),
      description: long('Description'),
      ...(asksUrl ? { url } : {}),
    },
  };
}

function hasUrl(agent: Agent | null): boolean {
  return (agent?.url ?? '') !== '';
}

const moreSchema: Schema = {
  type: 'object',
  properties: {
    tags: lines('Tags'),
    capabilities: lines('Capabilities'),
    modalities: lines('Modalities', 'Media types that it takes and gives, one a line.'),
    license: text('License'),
    repository_url: text('Repository'),
    provider_name: text('Provider'),
    provider_url: text('Address of the provider'),
    documentation: long('Documentation', 'Markdown.'),
  },
};

function configurationSection(kind: Kind, workflows: Given['workflows'], agent: Agent | null): Section {
  const values = agent?.configuration ?? {};
  const base = { id: `configuration-${kind}`, title: words.sections.configuration };
  const properties = CONFIGURATIONS[kind];
  // Kinds without known keys get their configuration as one document.
  if (properties === undefined)
    return {
      ...base,
      member: '',
      values: agent,
      schema: { type: 'object', properties: { configuration: object('Configuration', 'A JSON object.') } },
    };
  const named = workflows.map(({ id, name }) => ({ const: id, title: name }));
  const isListed = named.some((option) => option.const === values['workflow_id']);
  const withWorkflows =
    kind === 'workflow' && named.length > 0 && (isListed || agent === null)
      ? { ...properties, workflow_id: { title: 'Workflow', oneOf: named } }
      : properties;
  const schema = showable({ type: 'object', properties: withWorkflows }, values);
  const { [kind]: address } = ADDRESSES;
  const required = [...(REQUIRED[kind] ?? []), ...(address === undefined || hasUrl(agent) ? [] : [address])];
  return { ...base, member: 'configuration', values, schema: demanding(schema, required) };
}

/** @param names of fields that must be filled in, if the form has them */
function demanding(schema: Schema, names: readonly string[]): Schema {
  const properties = schema['properties'] as Record<string, Schema>;
  return { ...schema, required: names.filter((name) => Object.hasOwn(properties, name)) };
}

/**
 * Without the fields of other providers, unless the agent has them. The standard one has no address of its
 * own, so that of the model must be given.
 */
function ofProvider(section: Section, provider: string, agent: Agent | null): Section {
  const values = section.values ?? {};
  const others = Object.entries(OF_PROVIDER).flatMap(([name, fields]) => (name === provider ? [] : fields));
  const properties = Object.entries(section.schema['properties'] as Record<string, Schema>);
  const isStandard = provider === STANDARD_PROVIDER;
  const shown = properties
    .filter(([name]) => !others.includes(name) || values[name] !== undefined)
    .map(([name, field]): [string, Schema] => [
      name,
      isStandard && name === 'base_url' ? OWN_ADDRESS : field,
    ]);
  const schema = { ...section.schema, properties: Object.fromEntries(shown) };
  return {
    ...section,
    schema: isStandard && !hasUrl(agent) ? demanding(schema, ['base_url']) : schema,
    values: isStandard && values['provider'] === undefined ? values : { ...values, provider },
  };
}

function credentials(authentication: Authentication, agent: Agent | null): Section[] {
  if (authentication === 'none') return [];
  const values = agent?.authentication_type === authentication ? agent.authentication_config : null;
  const schema = { type: 'object', properties: CREDENTIALS[authentication] };
  return [
    {
      id: `credentials-${authentication}`,
      title: words.sections.credentials,
      help: words.credentialsHelp,
      member: 'authentication_config',
      values,
      schema: showable(schema, values),
    },
  ];
}
