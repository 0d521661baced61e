/** Agents of kind `api`: each invocation is one HTTP request, built from the configuration and the input. */
import { isRecord } from '../../contracts/is-record.ts';
import { compile } from '../../language/expressions/index.ts';
import { apiConfiguration, type ApiConfiguration } from '../../contracts/agent-kinds/api.ts';
import { fault } from '../../contracts/fault.ts';
import type { AgentAdapter, AgentCall, AgentResult, CallFiles, FileReference } from '../../domain/ports.ts';
import { agentCredentials } from '../authentication/agent-authentication.ts';
import { headerSafe, parseConfiguration, timeoutOf, withoutSecrets } from '../call-settings.ts';
import type {
  AnswerHead,
  EgressPolicy,
  EgressRequest,
  EgressResponse,
  StreamBody,
} from '../egress/egress.ts';
import { isFileAnswer, storeAnswer } from '../files/file-answer.ts';
import { multipartBody, oneFileBody } from '../files/file-body.ts';
import { withContents, withLinks } from '../files/file-references.ts';
import { addQuery, bodyOf, contentOf, headersOf, methodOf, statusFault } from './message.ts';
import type { TokenSource } from '../authentication/oauth-token.ts';
import { loadSensitive, type Sensitive } from '../secrets/sensitive.ts';
import { renderTemplate } from '../secrets/templates.ts';
import { expandUri, uriVariables } from '../../language/uri-template.ts';

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);
const USER_AGENT = 'Cadenza';

type AgentRequest = Pick<EgressRequest, 'url' | 'method' | 'body'> & { headers: Record<string, string> };
type AnswerSink = NonNullable<ReturnType<NonNullable<EgressRequest['take']>>>;

/**
 * Configuration: `apiConfiguration`. Output: the response's content (JSON, else text, else a stored file), or
 * the result of the `response` expression. Requests are never repeated here; the definition's `retry` decides
 * that.
 */
export function createHttpAdapter(deps: { egress: EgressPolicy; tokens: TokenSource }): AgentAdapter {
  return {
    async invoke(call): Promise<AgentResult> {
      const startedAt = performance.now();
      const configuration = parseConfiguration(apiConfiguration, call.agent.configuration);
      const { response: responseRule, ...sent } = configuration;
      const timeoutMs = timeoutOf(configuration.timeout, call.timeoutMs);
      const sensitive = await loadSensitive(
        [sent, call.agent.url, call.agent.authentication_config],
        call.secret,
      );
      try {
        const input = await inputOf(call, configuration.files);
        const request = await buildRequest({ ...call, input }, configuration, sensitive);
        const stored = new StoredAnswer(call.files && sensitive.cleanFiles(call.files), configuration.output);
        const credentials = await agentCredentials({ ...call, timeoutMs }, sensitive, deps.tokens);
        const answer = await deps.egress.request({
          ...request,
          url: credentials.withQuery(request.url),
          headers: { ...request.headers, ...credentials.headers },
          timeoutMs: Math.max(1, Math.round(timeoutMs - (performance.now() - startedAt))),
          signal: call.signal,
          take: (head) => stored.sinkFor(head),
        });
        if (answer.status === 401) credentials.refused();
        if (answer.status < 200 || answer.status > 299) throw statusFault(answer, request.method, sensitive);
        const output = sensitive.clean(outputOf(answer, responseRule, stored.file, sensitive));
        return { output, usage: { requests: 1, duration_ms: Math.round(performance.now() - startedAt) } };
      } catch (error) {
        throw withoutSecrets(error, sensitive);
      }
    },
  };
}

/** Adds a link or the content to files, unless they are the body or parts of it. */
async function inputOf(
  { input, files }: AgentCall,
  mode: ApiConfiguration['files'] = 'link',
): Promise<unknown> {
  if (!files) return input;
  return mode === 'link' ? withLinks(input, files) : mode === 'base64' ? withContents(input, files) : input;
}

/** Stores the content of a good response as a file, if it is one. */
class StoredAnswer {
  readonly #files: CallFiles | undefined;
  readonly #mode: NonNullable<ApiConfiguration['output']>;
  /** Null for a response without content; undefined if it is not stored. */
  file: FileReference | null | undefined;

  constructor(files: CallFiles | undefined, mode: ApiConfiguration['output'] = 'auto') {
    this.#files = files;
    this.#mode = mode;
  }

  /** Null: the response is read into memory. */
  sinkFor(head: AnswerHead): AnswerSink | null {
    const files = this.#files;
    const isGood = head.status >= 200 && head.status <= 299;
    const isFile = this.#mode === 'auto' ? isFileAnswer(head) : this.#mode !== 'inline';
    if (!files || !isGood || !isFile) return null;
    return async (body) => {
      this.file = await storeAnswer(head, body, files);
    };
  }
}

async function buildRequest(
  call: AgentCall,
  configuration: ApiConfiguration,
  sensitive: Sensitive,
): Promise<AgentRequest> {
  const { agent, input } = call;
  const endpoint = configuration.endpoint ?? agent.url;
  if (endpoint === null || endpoint === '')
    throw fault('configuration', 'The agent has no "endpoint" in its configuration and no url');
  const method = methodOf(configuration.method ?? 'POST');
  // Values are percent-encoded, so placeholders after the expansion come from the stored URL.
  const expanded = expandUri(endpoint, isRecord(input) ? input : {}, { required: true });
  const url = addQuery(
    sensitive.fill(expanded),
    renderTemplate(configuration.query, input, sensitive, 'query'),
  );
  const headers: Record<string, string> = {
    accept: 'application/json, text/*;q=0.9, */*;q=0.8',
    'user-agent': USER_AGENT,
    'idempotency-key': headerSafe(call.idempotencyKey),
    ...headersOf(renderTemplate(configuration.headers, input, sensitive, 'headers')),
  };
  const encoded = await encodeBody(call, configuration, sensitive, { method, headers });
  if (encoded !== null)
    return {
      url,
      method,
      headers: { ...headers, 'content-type': encoded.contentType },
      body: encoded.body,
    };
  if (configuration.query !== undefined) return { url, method, headers };
  return { url: withInputAsQuery(url, input, { method, endpoint }), method, headers };
}

/** The files of the input, the configured body, or the input; null for a method without a body. */
async function encodeBody(
  { input, files }: AgentCall,
  configuration: ApiConfiguration,
  sensitive: Sensitive,
  { method, headers }: Pick<AgentRequest, 'method' | 'headers'>,
): Promise<{ body: string | StreamBody; contentType: string } | null> {
  const { body: template, files: mode } = configuration;
  const configuredType = headers['content-type'];
  const hasBody = METHODS_WITH_BODY.has(method);
  const isOfFiles = mode === 'multipart' || mode === 'body';
  if (files && isOfFiles && !hasBody)
    throw fault('configuration', `${method} has no body, so "files" cannot be ${mode}`);
  if (template === undefined && !hasBody) return null;
  const value = template === undefined ? input : renderTemplate(template, input, sensitive, 'body');
  if (!files || !isOfFiles) return bodyOf(value ?? null, configuredType, false);
  if (mode === 'multipart') return multipartBody(value, files);
  const { body, contentType } = await oneFileBody(value, files);
  return { body, contentType: configuredType ?? contentType };
}

/** Sends the fields of the input that are not in the path as query parameters. */
function withInputAsQuery(
  url: string,
  input: unknown,
  { method, endpoint }: { method: string; endpoint: string },
): string {
  if (input === null || input === undefined) return url;
  if (!isRecord(input))
    throw fault('validation', `${method} sends the input as query parameters, so it must be an object`);
  const inPath = new Set(uriVariables(endpoint));
  return addQuery(url, Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.has(name))));
}

function outputOf(
  answer: EgressResponse,
  rule: ApiConfiguration['response'],
  file: FileReference | null | undefined,
  sensitive: Sensitive,
): unknown {
  const content =
    file === undefined ? contentOf(answer, (base64, type) => ({ media_type: type, base64 })) : file;
  if (rule === undefined) return content;
  // Redact before the rule as well, because the rule could cut a secret into unrecognisable pieces.
  const clean = sensitive.clean(content);
  const response = { status: answer.status, headers: sensitive.clean(answer.headers), body: clean };
  const source = typeof rule === 'string' ? rule : null;
  try {
    return source === null ? evaluateObject(rule, clean, response) : evaluate(source, clean, response);
  } catch (error) {
    throw fault(
      'expression',
      `"response" of the agent's configuration cannot be evaluated: ` +
        (error instanceof Error ? error.message : ''),
      { cause: error },
    );
  }
}

/** A bare jq expression, or one `${ … }`. */
function evaluate(source: string, content: unknown, response: unknown): unknown {
  const bare = /^\s*\$\{([\s\S]*)\}\s*$/.exec(source)?.[1] ?? source;
  return compile(bare, { variables: ['response'] }).first(content, { variables: { response } });
}

function evaluateObject(rule: unknown, content: unknown, response: unknown): unknown {
  if (typeof rule === 'string') return rule.includes('${') ? evaluate(rule, content, response) : rule;
  if (typeof rule !== 'object' || rule === null) return rule;
  if (Array.isArray(rule)) return rule.map((item) => evaluateObject(item, content, response));
  return Object.fromEntries(
    Object.entries(rule).map(([key, item]) => [key, evaluateObject(item, content, response)]),
  );
}
