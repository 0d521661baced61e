/** Paths of the two HTTP+JSON bindings, below an agent's own. */
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

/** @throws 404; 405 where the path is served for other methods. */
export function matchRoute<R extends RestRoute>(routes: readonly R[], method: string, path: string): RouteMatch<R> {
  const fitting = routes.flatMap((route) => {
    const match = route.path.exec(path);
    return match ? [{ route, params: match.slice(1).map(decode) }] : [];
  });
  const found = fitting.find(({ route }) => route.method === method);
  if (found) return found;
  if (fitting.length === 0) throw notFound('path');
  const allow = [...new Set(fitting.map(({ route }) => route.method))].join(', ');
  throw new AppError('method_not_allowed', 'method_not_allowed', `This path takes ${allow}.`, { headers: { Allow: allow } });
}

/** The whole path. */
export function pathOf(pattern: string): RegExp {
  return new RegExp(`^${pattern}$`);
}

/** As it stands where it is not percent-encoded UTF-8: no id of ours is like that. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
