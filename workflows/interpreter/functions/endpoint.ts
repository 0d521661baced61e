/**
 * Endpoints and authentications of calls, before their expressions are evaluated (dsl-reference.md
 * "Endpoint", "Authentication", "URI Template").
 */
import { Fault } from '../../../contracts/fault.ts';
import type {
  Authentication,
  Endpoint,
  OAuth2,
  ReferenceableAuthentication,
} from '../../../language/definition/model-common.ts';
import { expandTemplate } from '../../../language/uri-template.ts';
import type { Execution, Task } from '../execution.ts';
import { DslFault, fault } from '../fault.ts';

/**
 * Fills `{name}` in the definition's own text from the input, and replaces `use: name` by the authentication
 * of that name.
 */
export function endpointIn(execution: Execution, endpoint: Endpoint, task: Task, input: unknown): Endpoint {
  if (typeof endpoint === 'string') return expanded(endpoint, task, input);
  const { uri, authentication, ...rest } = endpoint;
  return {
    ...rest,
    uri: expanded(uri, task, input),
    ...(authentication === undefined
      ? {}
      : { authentication: policyIn(execution, authentication, task, input) }),
  };
}

export function policyIn(
  execution: Execution,
  given: ReferenceableAuthentication,
  task: Task,
  input: unknown,
): Authentication {
  const policy = 'use' in given ? execution.definition.use?.authentications?.[given.use] : given;
  if (!policy)
    throw fault(
      'configuration',
      `The authentication ${JSON.stringify('use' in given ? given.use : '')} is not defined`,
      task.ref,
    );
  const { oauth2, oidc, ...rest } = policy;
  const addressed = <T extends Authentication['oauth2']>(scheme: T): T | OAuth2 => {
    if (!scheme || 'use' in scheme) return scheme;
    const { authority, endpoints } = scheme;
    const token =
      endpoints?.token === undefined
        ? {}
        : { endpoints: { ...endpoints, token: expanded(endpoints.token, task, input) } };
    return { ...scheme, authority: expanded(authority, task, input), ...token };
  };
  return {
    ...rest,
    ...(oauth2 ? { oauth2: addressed(oauth2) } : {}),
    ...(oidc ? { oidc: addressed(oidc) } : {}),
  };
}

/**
 * A URL from data must be a string: an object in its place could choose the secret with which it is called.
 * The activity evaluates `deferred` expressions, and checks them there.
 */
export function uriIsText(
  given: Endpoint,
  resolved: unknown,
  pointer: string,
  deferred: ReadonlySet<string>,
  task: Task,
): void {
  if (deferred.has(pointer) || deferred.has(`${pointer}/uri`)) return;
  const uri = typeof given === 'string' ? resolved : (resolved as { uri: unknown }).uri;
  if (typeof uri !== 'string')
    throw fault('expression', 'The expression of the endpoint must give a text', task.ref);
}

function expanded(text: string, task: Task, input: unknown): string {
  const variables =
    typeof input === 'object' && input !== null && !Array.isArray(input)
      ? (input as Record<string, unknown>)
      : {};
  try {
    return expandTemplate(text, variables);
  } catch (error) {
    throw error instanceof Fault ? new DslFault({ ...error.error, instance: task.ref }) : error;
  }
}
