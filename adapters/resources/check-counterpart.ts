/** Tries a counterpart without doing any of its work. */
import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import { hostOf } from '../egress/connection-fault.ts';
import { checkSensor } from '../sensor/sensor-agent.ts';
import type { SourceCall } from './source-call.ts';
import { readCard } from './offers-a2a.ts';
import { listTools } from './offers-mcp.ts';

/** @returns a sentence for people. Throws `Fault` with the reason if the counterpart does not work. */
export async function checkCounterpart(kind: string, call: SourceCall): Promise<string> {
  const { configuration } = call.agent;
  switch (kind) {
    case 'a2a': {
      const card = await readCard(call);
      return `The card of ${card.name} was read.`;
    }
    case 'sensor':
      return checkSensor(call);
    case 'llm':
    case 'vision':
    case 'audio':
      return checkModels(call);
    case 'framework': {
      const url = addressOf(call, 'base_url');
      if (configuration['framework'] === 'mcp') {
        const tools = await listTools({ ...call, url });
        const wanted = configuration['tool'];
        if (typeof wanted === 'string' && !tools.some(({ name }) => name === wanted))
          throw fault('configuration', `The server has no tool ${JSON.stringify(wanted)}`);
        return `The server has ${tools.length} tools.`;
      }
      const key = configuration['api_key'];
      const headers = typeof key === 'string' ? { 'x-api-key': call.guard.sensitive.fill(key) } : {};
      const { assistant_id: assistant } = configuration;
      const id = encodeURIComponent(typeof assistant === 'string' ? assistant : '');
      // A graph may be named in place of an assistant, and such a name cannot be looked up.
      const { status } = await call.send(`${withoutEnd(url, '/')}/assistants/${id}`, { headers });
      return accepted(url, status, [404, 422]);
    }
    default:
      return checkApi(call);
  }
}

async function checkApi(call: SourceCall): Promise<string> {
  const endpoint = addressOf(call, 'endpoint');
  const { check } = call.agent.configuration;
  if (typeof check === 'string' && check !== '') {
    const url = addressBelow(endpoint, call.guard.sensitive.fill(check));
    // Credentials go to the agent's own server only.
    if (new URL(url).origin !== new URL(withoutVariables(endpoint)).origin)
      throw fault('configuration', '"check" must be on the server of the endpoint');
    return accepted(url, (await call.send(url)).status, []);
  }
  // Without work and without credentials: only whether a server answers there.
  const url = endpoint.includes('{') ? new URL('/', withoutVariables(endpoint)).href : endpoint;
  const { status } = await call.egress.request({
    url,
    method: 'OPTIONS',
    headers: { 'user-agent': 'Cadenza' },
    maxBytes: 1024 * 1024,
    timeoutMs: call.guard.leftMs(),
    signal: call.guard.signal,
  });
  if (status >= 500) throw refused(url, status);
  return `${hostOf(url)} answers (${status}).`;
}

function addressBelow(endpoint: string, check: string): string {
  const base = withoutVariables(endpoint);
  if (!URL.canParse(check, base)) throw fault('configuration', '"check" is no address');
  return new URL(check, base).href;
}

/** The list of models costs nothing; a model that it lacks may still be served. */
async function checkModels(call: SourceCall): Promise<string> {
  const { provider = 'openai-compatible', api_key: key, model } = call.agent.configuration;
  const own = OWN_ADDRESSES[String(provider)];
  if (own === undefined) {
    // Loaded when it is needed: the API calls models for nothing else.
    const { tryModel } = await import('./try-model.ts');
    return tryModel(call);
  }
  const base = withoutEnd(addressOf(call, 'base_url', own ?? undefined), '/');
  const secret = typeof key === 'string' ? call.guard.sensitive.fill(key) : null;
  const headers = secret === null ? {} : keyHeaders(String(provider), secret);
  const url = `${base}/models`;
  const { status, bytes } = await call.send(url, { headers });
  const answer = accepted(url, status, [404]);
  const listed = namesIn(bytes);
  if (
    status !== 200 ||
    listed.length === 0 ||
    listed.some((id) => id === model || id === `models/${String(model)}`)
  )
    return answer;
  return `${hostOf(url)} answers, but does not list the model ${String(model)}.`;
}

/** Where providers serve by default; null: they have no address of their own. */
const OWN_ADDRESSES: Partial<Record<string, string | null>> = {
  'openai-compatible': null,
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  ollama: null,
};

function keyHeaders(provider: string, key: string): Record<string, string> {
  if (provider === 'anthropic') return { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
  return provider === 'google' ? { 'x-goog-api-key': key } : { authorization: `Bearer ${key}` };
}

function namesIn(bytes: Uint8Array): string[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    const list = isRecord(value) ? (value['data'] ?? value['models']) : null;
    return (Array.isArray(list) ? list : []).flatMap((one: unknown) => {
      const id = isRecord(one) ? (one['id'] ?? one['name']) : undefined;
      return typeof id === 'string' ? [id] : [];
    });
  } catch {
    return [];
  }
}

function addressOf(call: SourceCall, key: string, own?: string): string {
  const { configuration, url } = call.agent;
  const address = configuration[key] ?? url ?? own;
  if (typeof address !== 'string' || address === '')
    throw fault('configuration', `The agent has no "${key}" in its configuration and no url`);
  const filled = call.guard.sensitive.fill(address);
  if (!URL.canParse(withoutVariables(filled)))
    throw fault('configuration', `"${key}" is no absolute address until a call fills it in`);
  return filled;
}

/** A URI template with something in place of its variables. */
function withoutVariables(template: string): string {
  return template.replaceAll(/\{[^{}]*\}/g, '_');
}

function accepted(url: string, status: number, alsoFine: readonly number[]): string {
  if (status >= 400 && !alsoFine.includes(status)) throw refused(url, status);
  return `${hostOf(url)} answers (${status}).`;
}

function refused(url: string, status: number): Error {
  const type = status === 401 ? 'authentication' : status === 403 ? 'authorization' : 'communication';
  return fault(type, `${hostOf(url)} answered ${status}`, { status });
}
