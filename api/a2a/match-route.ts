/** Matches paths of the two HTTP+JSON bindings, relative to the agent's URL. */
import { AppError, notFound } from '../../domain/errors.ts';

export interface RestRoute {
  method: 'GET' | 'POST' | 'DELETE';
  path: RegExp;
}

export interface RouteMatch<R extends RestRoute> {
  route: R;
  /** Path parameters, decoded. */
  params: string[];
}

/** @throws 404 for an unknown path; 405 if the path exists for other methods */
export function matchRoute<R extends RestRoute>(
  routes: readonly R[],
  method: string,
  path: string,
): RouteMatch<R> {
  const fitting = routes.flatMap((route) => {
    const match = route.path.exec(path);
    return match ? [{ route, params: match.slice(1).map(decode) }] : [];
  });
  const found = fitting.find(({ route }) => route.method === method);
  if (found) return found;
  if (fitting.length === 0) throw notFound('path');
  const allow = [...new Set(fitting.map(({ route }) => route.method))].join(', ');
  throw new AppError('method_not_allowed', 'method_not_allowed', `This path supports ${allow}.`, {
    headers: { Allow: allow },
  });
}

/** A regular expression that matches the whole path. */
export function pathOf(pattern: string): RegExp {
  return new RegExp(`^${pattern}$`);
}

/** Decodes a path segment. Invalid encoding is left as it is; no id of ours contains it. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
