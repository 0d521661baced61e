/** Types shared by several tasks of the definition language. */

/** Convert it with `durationToMs`. A string is ISO 8601 or a `${ … }` that evaluates to it. */
export type Duration = string | InlineDuration;

interface InlineDuration {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
  milliseconds?: number;
}

export interface Timeout {
  after: Duration;
}

/** JSON Schema 2020-12. A `resource` is fetched when the definition is saved, and runs as `document`. */
export interface DataSchema {
  format?: string;
  document?: Record<string, unknown> | boolean;
  resource?: ExternalResource;
}

/** `from` and `as` are jq (bare or `${ … }`), or an object whose strings may contain `${ … }`. */
export interface Input {
  schema?: DataSchema;
  from?: string | Record<string, unknown>;
}

export interface Output {
  schema?: DataSchema;
  as?: string | Record<string, unknown>;
}

export interface Export {
  schema?: DataSchema;
  as?: string | Record<string, unknown>;
}

/** A JSON Pointer, or a `${ … }`. */
export type ErrorInstance = string;

/** RFC 9457; `type`, `instance`, `title`, `detail` may be `${ … }`. */
export interface ErrorDefinition {
  type: string;
  status: number;
  instance?: ErrorInstance;
  title?: string;
  detail?: string;
}

export interface RetryPolicy {
  when?: string;
  exceptWhen?: string;
  delay?: Duration;
  backoff?:
    | { constant: Record<string, never> }
    /** `factor`: 2 if missing. `maxDelay` limits the delay before each retry. */
    | { exponential: { factor?: number; maxDelay?: Duration } }
    /** `increment`: what each retry adds to the delay; the delay itself if missing. */
    | { linear: { increment?: Duration; maxDelay?: Duration } };
  limit?: { attempt?: { count?: number; duration?: Duration }; duration?: Duration };
  jitter?: { from: Duration; to: Duration };
}

export interface ExternalResource {
  name?: string;
  endpoint: Endpoint;
}

/** A URI, a URI template with `{name}`, or a `${ … }`. */
export type Endpoint = string | EndpointConfiguration;

interface EndpointConfiguration {
  uri: string;
  authentication?: ReferenceableAuthentication;
}

/** `use`: the name of one of `use.authentications`. */
export type ReferenceableAuthentication = { use: string } | Authentication;

/** Exactly one key. `{use}` inside names one of `use.secrets`. Strings may be `${ … }`. */
export interface Authentication {
  basic?: { username: string; password: string } | SecretReference;
  bearer?: { token: string } | SecretReference;
  digest?: { username: string; password: string } | SecretReference;
  oauth2?: OAuth2 | SecretReference;
  oidc?: OAuth2 | SecretReference;
}

interface SecretReference {
  use: string;
}

export interface OAuth2 {
  authority: string;
  endpoints?: { token?: string; revocation?: string; introspection?: string };
  grant:
    | 'authorization_code'
    | 'client_credentials'
    | 'password'
    | 'refresh_token'
    | 'urn:ietf:params:oauth:grant-type:token-exchange';
  client?: {
    id?: string;
    secret?: string;
    assertion?: string;
    authentication?:
      'client_secret_basic' | 'client_secret_post' | 'client_secret_jwt' | 'private_key_jwt' | 'none';
  };
  request?: { encoding?: 'application/x-www-form-urlencoded' | 'application/json' };
  issuers?: string[];
  scopes?: string[];
  audiences?: string[];
  username?: string;
  password?: string;
  subject?: { token: string; type: string };
  actor?: { token: string; type: string };
}
