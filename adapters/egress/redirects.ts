import { fault } from '../../contracts/fault.ts';
import type { EgressRequest } from './egress.ts';
import { abandonBody } from './response-body.ts';
import type { UnreadAnswer } from './send-request.ts';
import { webUrl } from './web-url.ts';

const MAX_REDIRECTS = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);
/** The headers that may follow a redirect to another origin: none that could be a credential. */
const HEADERS_FOR_ANY_ORIGIN = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

/** The last answer, the URL that gave it, and the method that asked for it. */
export type FinalAnswer = UnreadAnswer & { url: string; method: string };

/** Sends a request and follows its redirects, each with the request that the Fetch standard specifies. */
export async function followRedirects(
  first: EgressRequest,
  send: (url: URL, request: EgressRequest) => Promise<UnreadAnswer>,
): Promise<FinalAnswer> {
  let request = first;
  let url = webUrl(first.url);
  for (let redirects = 0; ; redirects += 1) {
    const answer = await send(url, request);
    const { location } = answer.headers;
    if (first.followRedirects === false || location === undefined || !REDIRECT_STATUSES.has(answer.status))
      return { ...answer, method: request.method, url: url.href };
    abandonBody(answer.body);
    if (redirects === MAX_REDIRECTS)
      throw fault('communication', `${url.host} redirected more than ${MAX_REDIRECTS} times`, {
        status: 502,
      });
    const next = redirectTarget(url, location);
    request = redirectedRequest(request, answer.status, url, next);
    url = next;
  }
}

function redirectTarget(from: URL, location: string): URL {
  if (!URL.canParse(location, from.href))
    throw fault('communication', `${from.host} redirected to something that is not a URL`, { status: 502 });
  const next = webUrl(new URL(location, from).href);
  if (from.protocol === 'https:' && next.protocol === 'http:') {
    throw fault('communication', `${from.host} redirected from https to http, which is not followed`, {
      status: 502,
    });
  }
  return next;
}

/** Fetch standard, "HTTP-redirect fetch". */
function redirectedRequest(request: EgressRequest, status: number, from: URL, to: URL): EgressRequest {
  const { body, ...rest } = request;
  const asGet = status === 303 ? request.method !== 'HEAD' : status < 303 && request.method === 'POST';
  const crossOrigin = from.origin !== to.origin;
  if (!asGet && crossOrigin && body !== undefined) {
    throw fault(
      'communication',
      `${from.host} redirected a ${request.method} with its body to another host, which is not followed`,
      { status: 502 },
    );
  }
  const headers = Object.entries(request.headers ?? {}).filter(
    ([name]) => (!crossOrigin || HEADERS_FOR_ANY_ORIGIN.has(name)) && !(asGet && name.startsWith('content-')),
  );
  return {
    ...rest,
    headers: Object.fromEntries(headers),
    method: asGet ? 'GET' : request.method,
    ...(body === undefined || asGet ? {} : { body }),
  };
}
