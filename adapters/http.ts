/** Agents of kind `api`: one HTTP request an invocation, made from the configuration and the input. */
import { isRecord } from '../contracts/is-record.ts';
import { compile } from '../expressions/index.ts';
import { apiConfiguration } from '../contracts/agent-configuration.ts';
import type { ApiConfiguration } from '../contracts/agent-configuration.ts';
import { fault } from '../contracts/fault.ts';
import type { AgentAdapter, AgentCall, AgentResult, CallFiles, FileReference } from '../domain/ports.ts';
import { agentCredentials } from './agent-authentication.ts';
import { headerSafe, parseConfiguration, timeoutOf, withoutSecrets } from './call-settings.ts';
import type { AnswerHead, EgressPolicy, EgressRequest, EgressResponse } from './egress.ts';
import { isFileAnswer, storeAnswer } from './file-answer.ts';
import { multipartBody, oneFileBody } from './file-body.ts';
import { withContents, withLinks } from './file-references.ts';
import { addQuery, bodyOf, contentOf, headersOf, methodOf, statusFault } from './http-message.ts';
import type { TokenSource } from './oauth-token.ts';
import { loadSensitive } from './sensitive.ts';
import type { Sensitive } from './sensitive.ts';
import { renderTemplate } from './templates.ts';
import { expandUri, uriVariables } from '../contracts/uri-template.ts';

const WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);
const USER_AGENT = 'Cadenza';

/**
 * Configuration: `apiConfiguration`. Output: the answer's content (JSON, else text, else a file of the platform's), or what `response`
 * makes of it. Never repeats a request by itself: whether to is said by the definition's `retry`.
 */
export function createHttpAdapter(deps: { egress: EgressPolicy; tokens: TokenSource }): AgentAdapter {
  return {
    async invoke(call): Promise<AgentResult> {
      const startedAt = performance.now();
      const configuration = parseConfiguration(apiConfiguration, call.agent.configuration);
      const { response: responseRule, ...sent } = configuration;
      const timeoutMs = timeoutOf(configuration.timeout, call.timeoutMs);
      const sensitive = await loadSensitive([sent, call.agent.url, call.agent.authentication_config], call.secret);
      try {
        const request = await buildRequest({ ...call, input: await inputOf(call, configuration.files) }, configuration, sensitive);
        const taking: { file?: FileReference | null } = {};
        const credentials = await agentCredentials({ ...call, timeoutMs }, sensitive, deps.tokens);
        const answer = await deps.egress.request({
          ...request,
          url: credentials.withQuery(request.url),
          headers: { ...request.headers, ...credentials.headers },
          timeoutMs: Math.max(1, Math.round(timeoutMs - (performance.now() - startedAt))),
          signal: call.signal,
          ...(call.files ? { take: takeFile(configuration.output, call.files, (file) => (taking.file = file)) } : {}),
        });
        if (answer.status === 401) credentials.refused();
        if (answer.status < 200 || answer.status > 299) throw statusFault(answer, request.method, sensitive.redact);
        const output = sensitive.clean(outputOf(answer, responseRule, taking.file));
        return { output, usage: { requests: 1, duration_ms: Math.round(performance.now() - startedAt) } };
      } catch (error) {
        throw withoutSecrets(error, sensitive);
      }
    },
  };
}

/** Files with a link or their content, where they are neither the body nor parts of it. */
async function inputOf({ input, files }: AgentCall, way: ApiConfiguration['files'] = 'link'): Promise<unknown> {
  if (!files) return input;
  return way === 'link' ? withLinks(input, files) : way === 'base64' ? withContents(input, files) : input;
}

/** Which answers go to the file store; `done` is told what they became. */
function takeFile(way: ApiConfiguration['output'] = 'auto', files: CallFiles, done: (file: FileReference | null) => void): NonNullable<EgressRequest['take']> {
  return (head: AnswerHead) => {
    if (head.status < 200 || head.status > 299 || way === 'inline' || (way === 'auto' && !isFileAnswer(head))) return null;
    return async (body) => done(await storeAnswer(head, body, files));
  };
}

async function buildRequest(call: AgentCall, configuration: ApiConfiguration, sensitive: Sensitive): Promise<Pick<EgressRequest, 'url' | 'method' | 'body'> & { headers: Record<string, string> }> {
  const { agent, input } = call;
  const endpoint = configuration.endpoint ?? agent.url;
  if (endpoint === null || endpoint === '') throw fault('configuration', 'The agent has no "endpoint" in its configuration and no url');
  const method = methodOf(configuration.method ?? 'POST');
  const fields = isRecord(input) ? input : {};
  // Values are percent-encoded, so a placeholder found after the expansion is the stored address's own.
  let url = sensitive.fill(expandUri(endpoint, fields, { required: true }));
  if (configuration.query !== undefined) url = addQuery(url, renderTemplate(configuration.query, input, sensitive, 'query'));

  const headers: Record<string, string> = {
    accept: 'application/json, text/*;q=0.9, */*;q=0.8',
    'user-agent': USER_AGENT,
    'idempotency-key': headerSafe(call.idempotencyKey),
    ...headersOf(renderTemplate(configuration.headers, input, sensitive, 'headers')),
  };
  if ((configuration.files === 'multipart' || configuration.files === 'body') && call.files) {
    if (!WITH_BODY.has(method)) throw fault('configuration', `${method} has no body, so "files" cannot be ${configuration.files}`);
    const value = configuration.body === undefined ? input : renderTemplate(configuration.body, input, sensitive, 'body');
    const { body, contentType } = await (configuration.files === 'body' ? oneFileBody(value, call.files) : multipartBody(value, call.files));
    return { url, method, headers: { ...headers, 'content-type': configuration.files === 'body' ? (headers['content-type'] ?? contentType) : contentType }, body };
  }
  if (configuration.body !== undefined) {
    const encoded = bodyOf(renderTemplate(configuration.body, input, sensitive, 'body') ?? null, headers['content-type'], false);
    return { url, method, headers: { ...headers, 'content-type': encoded.contentType }, body: encoded.body };
  }
  if (WITH_BODY.has(method)) {
    const encoded = bodyOf(input ?? null, headers['content-type'], false);
    return { url, method, headers: { ...headers, 'content-type': encoded.contentType }, body: encoded.body };
  }
  if (configuration.query === undefined) {
    if (!isRecord(input) && input !== null && input !== undefined) {
      throw fault('validation', `${method} sends the input as query parameters, so it must be an object`);
    }
    const inPath = new Set(uriVariables(endpoint));
    url = addQuery(url, Object.fromEntries(Object.entries(fields).filter(([name]) => !inPath.has(name))));
  }
  return { url, method, headers };
}

function outputOf(answer: EgressResponse, rule: ApiConfiguration['response'], file: FileReference | null | undefined): unknown {
  const content = file === undefined ? contentOf(answer, (base64, type) => ({ media_type: type, base64 })) : file;
  if (rule === undefined) return content;
  const response = { status: answer.status, headers: answer.headers, body: content };
  const source = typeof rule === 'string' ? rule : null;
  try {
    return source === null ? evaluateObject(rule, content, response) : evaluate(source, content, response);
  } catch (error) {
    throw fault('expression', `"response" of the agent's configuration cannot be evaluated: ${error instanceof Error ? error.message : ''}`, { cause: error });
  }
}

/** Bare jq or one `${ … }`. */
function evaluate(source: string, content: unknown, response: unknown): unknown {
  const bare = /^\s*\$\{([\s\S]*)\}\s*$/.exec(source)?.[1] ?? source;
  return compile(bare, { variables: ['response'] }).first(content, { variables: { response } });
}

function evaluateObject(rule: unknown, content: unknown, response: unknown): unknown {
  if (typeof rule === 'string') return rule.includes('${') ? evaluate(rule, content, response) : rule;
  if (typeof rule !== 'object' || rule === null) return rule;
  if (Array.isArray(rule)) return rule.map((item) => evaluateObject(item, content, response));
  return Object.fromEntries(Object.entries(rule).map(([key, item]) => [key, evaluateObject(item, content, response)]));
}
