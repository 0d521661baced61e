/** Agents of kind `api`: each invocation is one HTTP request, built from the configuration and the input. */
import { isRecord } from '../../contracts/is-record.ts';
import { evaluateRule } from '../../language/job-answer.ts';
import { apiConfiguration, type ApiConfiguration } from '../../contracts/agent-kinds/api.ts';
import { fault } from '../../contracts/fault.ts';
import { callBudget } from '../../language/expression-budget.ts';
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
import { cancelJob, endOfJob, followJob, statusUrlOf, type LongJob } from './long-job.ts';
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
export function createHttpAdapter(deps: HttpAgentDeps): AgentAdapter {
  return {
    async invoke(call): Promise<AgentResult> {
      const configuration = parseConfiguration(apiConfiguration, call.agent.configuration);
      const { response: _response, async: _long, ...sent } = configuration;
      const sensitive = await loadSensitive(
        [sent, call.agent.url, call.agent.authentication_config],
        call.secret,
      );
      try {
        return await new HttpAgentCall(deps, call, configuration, sensitive).invoke();
      } catch (error) {
        throw withoutSecrets(error, sensitive);
      }
    },
  };
}

interface HttpAgentDeps {
  egress: EgressPolicy;
  tokens: TokenSource;
}

/** What a call keeps of a job that takes long. */
interface KeptJob {
  /** With placeholders. */
  status_url?: string;
  /** The service has taken a job that ends with a callback. */
  taken?: true;
  /** When the call times out; milliseconds since the epoch. */
  until: number;
}

class HttpAgentCall {
  readonly #deps: HttpAgentDeps;
  readonly #call: AgentCall;
  readonly #configuration: ApiConfiguration;
  readonly #sensitive: Sensitive;
  readonly #startedAt = performance.now();
  readonly #timeoutMs: number;
  /** Times out earlier if an earlier attempt has begun the call. */
  readonly #kept: KeptJob | null;

  constructor(deps: HttpAgentDeps, call: AgentCall, configuration: ApiConfiguration, sensitive: Sensitive) {
    this.#deps = deps;
    this.#call = call;
    this.#configuration = configuration;
    this.#sensitive = sensitive;
    // The assertion holds: only this class keeps progress of these calls.
    this.#kept = (call.progress?.kept ?? null) as KeptJob | null;
    const timeoutMs = timeoutOf(configuration.timeout, call.timeoutMs);
    this.#timeoutMs = this.#kept === null ? timeoutMs : Math.min(timeoutMs, this.#kept.until - Date.now());
  }

  async invoke(): Promise<AgentResult> {
    const { withdraw } = this.#call;
    const { async: long } = this.#configuration;
    if (withdraw) {
      const { status_url: url } = withdraw;
      if (typeof url === 'string') await cancelJob(this.#job(), this.#sensitive.fill(url));
      return { output: null };
    }
    if (this.#kept?.taken) return this.#awaits(this.#kept.status_url);
    if (this.#kept?.status_url !== undefined) return this.#follow(this.#kept.status_url, 0);
    if (long?.mode === 'callback') return this.#startWithCallback(long.header ?? CALLBACK_HEADER);
    const stored = new StoredAnswer(
      this.#call.files && this.#sensitive.cleanFiles(this.#call.files),
      this.#configuration.output,
    );
    const answer = await this.#start({ take: long ? undefined : (head) => stored.sinkFor(head) });
    if (long) return this.#startedJob(answer);
    const rule = this.#configuration.response;
    const output = this.#sensitive.clean(outputOf(answer, rule, stored.file, this.#sensitive));
    return { output, usage: this.#usage(1) };
  }

  /** Sends the request of the configuration. Throws `Fault` unless the answer is good. */
  async #start({ take, given = {}, header }: StartOptions): Promise<EgressResponse> {
    const input = await inputOf(this.#call, this.#configuration.files);
    const request = await buildRequest({ ...this.#call, input }, this.#configuration, this.#sensitive, given);
    const credentials = await this.#credentials();
    const answer = await this.#deps.egress.request({
      ...request,
      url: credentials.withQuery(request.url),
      headers: { ...header, ...request.headers, ...credentials.headers },
      timeoutMs: this.#leftMs(),
      signal: this.#call.signal,
      ...(take === undefined ? {} : { take }),
    });
    if (answer.status === 401) credentials.refused();
    if (answer.status < 200 || answer.status > 299)
      throw statusFault(answer, request.method, this.#sensitive);
    return answer;
  }

  async #startWithCallback(name: string): Promise<AgentResult> {
    const { callback, progress } = this.#call;
    if (!callback) throw fault('configuration', 'This agent completes its calls by callbacks');
    const { url, token } = await callback();
    // Not even its beginning may be quoted.
    this.#sensitive.protect(token, '<CALLBACK>');
    const answer = await this.#start({ given: { callback: url }, header: headersOf({ [name]: url }) });
    const statusUrl = this.#configuration.async?.cancel ? statusUrlOf(answer, this.#job()) : null;
    const redacted = statusUrl === null ? undefined : this.#sensitive.redact(statusUrl);
    await progress?.keep({ taken: true, ...this.#keptOf(redacted) });
    return this.#awaits(redacted);
  }

  #awaits(statusUrl: string | undefined): AgentResult {
    return { output: null, awaits: statusUrl === undefined ? {} : { withdraw: { status_url: statusUrl } } };
  }

  /** The outcome of the first answer, or of the job that it names. */
  async #startedJob(answer: EgressResponse): Promise<AgentResult> {
    const job = this.#job();
    const seen = endOfJob(job, answer);
    if (seen !== null) return { output: seen.output, usage: this.#usage(1) };
    const statusUrl = statusUrlOf(answer, job);
    if (statusUrl === null)
      throw fault('communication', 'The service has taken the job, and names no address of its state', {
        status: 502,
      });
    const redacted = this.#sensitive.redact(statusUrl);
    await this.#call.progress?.keep(this.#keptOf(redacted));
    return this.#follow(redacted, 1);
  }

  #keptOf(statusUrl: string | undefined): Record<string, unknown> & KeptJob {
    const until = Date.now() + this.#leftMs();
    return { until, ...(statusUrl === undefined ? {} : { status_url: statusUrl }) };
  }

  async #follow(statusUrl: string, before: number): Promise<AgentResult> {
    const { output, requests } = await followJob(this.#job(), this.#sensitive.fill(statusUrl));
    return { output, usage: this.#usage(before + requests) };
  }

  #job(): LongJob {
    return {
      configuration: this.#configuration,
      call: this.#call,
      sensitive: this.#sensitive,
      leftMs: () => this.#leftMs(),
      send: (method, url, limits) => this.#sendAgain(method, url, limits),
    };
  }

  /** The agent's credentials and headers go to the origin of its endpoint only. */
  async #sendAgain(
    method: string,
    url: string,
    limits: { timeoutMs: number; signal: AbortSignal },
  ): Promise<EgressResponse> {
    const headers = { accept: 'application/json, text/*;q=0.9, */*;q=0.8', 'user-agent': USER_AGENT };
    if (!this.#isOwn(url)) return this.#deps.egress.request({ url, method, headers, ...limits });
    const { input } = this.#call;
    const configured = headersOf(
      renderTemplate(withoutCallback(this.#configuration.headers), input, this.#sensitive, 'headers'),
    );
    delete configured['content-type'];
    for (let attempt = 1; ; attempt++) {
      const credentials = await this.#credentials();
      const answer = await this.#deps.egress.request({
        url: credentials.withQuery(url),
        method,
        headers: { ...headers, ...configured, ...credentials.headers },
        ...limits,
      });
      if (answer.status !== 401) return answer;
      credentials.refused();
      // A token may have expired since the job began.
      if (!credentials.renewable || attempt > 1) return answer;
    }
  }

  #isOwn(url: string): boolean {
    const endpoint = this.#sensitive.fill(this.#configuration.endpoint ?? this.#call.agent.url ?? '');
    // Variables of the path do not matter; one in the host makes it no known origin.
    const origin = /^https?:\/\/[^/{}]+/i.exec(endpoint)?.[0] ?? '';
    return URL.canParse(origin) && new URL(origin).origin === new URL(url).origin;
  }

  #credentials(): ReturnType<typeof agentCredentials> {
    const call = { ...this.#call, timeoutMs: this.#leftMs() };
    return agentCredentials(call, this.#sensitive, this.#deps.tokens);
  }

  #leftMs(): number {
    return Math.max(1, Math.round(this.#timeoutMs - (performance.now() - this.#startedAt)));
  }

  #usage(requests: number): NonNullable<AgentResult['usage']> {
    return { requests, duration_ms: Math.round(performance.now() - this.#startedAt) };
  }
}

interface StartOptions {
  take?: EgressRequest['take'];
  given?: Readonly<Record<string, unknown>>;
  header?: Record<string, string>;
}

const CALLBACK_HEADER = 'X-Callback-Url';

/** Headers for later requests, which have no address of a callback. */
function withoutCallback(headers: ApiConfiguration['headers']): ApiConfiguration['headers'] {
  return Object.fromEntries(
    Object.entries(headers ?? {}).filter(([, value]) => !String(value).includes('$callback')),
  );
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
  given: Readonly<Record<string, unknown>>,
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
    renderTemplate(configuration.query, input, sensitive, 'query', given),
  );
  const headers: Record<string, string> = {
    accept: 'application/json, text/*;q=0.9, */*;q=0.8',
    'user-agent': USER_AGENT,
    'idempotency-key': headerSafe(call.idempotencyKey),
    ...headersOf(renderTemplate(configuration.headers, input, sensitive, 'headers', given)),
  };
  const encoded = await encodeBody(call, configuration, sensitive, { method, headers, given });
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
  {
    method,
    headers,
    given,
  }: Pick<AgentRequest, 'method' | 'headers'> & { given: Readonly<Record<string, unknown>> },
): Promise<{ body: string | StreamBody; contentType: string } | null> {
  const { body: template, files: mode } = configuration;
  const configuredType = headers['content-type'];
  const hasBody = METHODS_WITH_BODY.has(method);
  const isOfFiles = mode === 'multipart' || mode === 'body';
  if (files && isOfFiles && !hasBody)
    throw fault('configuration', `${method} has no body, so "files" cannot be ${mode}`);
  if (template === undefined && !hasBody) return null;
  const value = template === undefined ? input : renderTemplate(template, input, sensitive, 'body', given);
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
  try {
    return evaluateRule(rule, clean, response, callBudget());
  } catch (error) {
    throw fault(
      'expression',
      `"response" of the agent's configuration cannot be evaluated: ` +
        (error instanceof Error ? error.message : ''),
      { cause: error },
    );
  }
}
