/**
 * The operations and schemas of docs/openapi.json. Generated from the endpoint declarations in api/routes by
 * `npm run openapi`: do not edit.
 */
/** The answer of an operation that streams events. */
export type EventStream = { readonly kind: 'events' };
export type Absence = {
  id: string;
  /** Who is absent. */
  user: {
    id: string;
    display_name: string;
  };
  /** Who decides their human tasks meanwhile. */
  deputy: {
    id: string;
    display_name: string;
  };
  from: string;
  until: string;
  note: string | null;
  created_at: string;
};
export type AcceptedEvent = {
  id: string;
  source: string;
  event_id: string;
  type: string;
  received_at: string;
  duplicate: boolean;
};
export type AccessToken = AccessTokenFields;
export type AccessTokenFields = {
  id: string;
  name: string;
  scopes: string[];
  /** The last characters of the token. */
  hint: string;
  created_at: string;
  expires_at: string;
  /** To the minute. */
  last_used_at: string | null;
  last_address: string | null;
  /**
   * A viewer's rights only, until its user has a second factor, which a role needs
   * (`SECOND_FACTOR_ROLES`).
   */
  awaits_second_factor: boolean;
};
export type ActOnRunsRequest = {
  action: 'cancel' | 'suspend' | 'resume' | 'retry';
  ids: string[];
};
export type Agent = AgentFields & {
  description: string | null;
  documentation: string | null;
  configuration: Record<string, unknown> | null;
  input_schema: Record<string, unknown> | null;
  output_schema: Record<string, unknown> | null;
  modalities: string[] | null;
  capabilities: string[] | null;
  authentication_config: Record<string, unknown> | null;
  tags: string[] | null;
  /**
   * Newest first. Versions have `omitted` only if the agent predates AGENT_MAX_BYTES and has
   * more than 32 MiB of versions.
   */
  versions: (ListedAgentVersion | AgentVersion)[];
  skills: AgentSkill[];
  /**
   * Parts of `configuration` that have no effect, or that will fail when the agent is invoked,
   * and a name that another agent of the same owner has.
   */
  warnings: {
    pointer: string;
    message: string;
  }[];
};
export type AgentCanary = {
  version: string;
  percent: number;
  since: string;
  /** Of the version, which takes calls only while it is published. */
  status: ('draft' | 'published' | 'deprecated') | null;
};
export type AgentCard = {
  name: string;
  description: string;
  url: string;
  provider: {
    name: string;
    url: string | null;
  } | null;
  version: string;
  documentationUrl: string | null;
  capabilities: {
    streaming: boolean;
    pushNotifications: boolean;
    stateTransitionHistory: boolean;
  };
  authentication: {
    type: string;
    config: Record<string, unknown> | null;
  } | null;
  defaultInputModes: string[];
  defaultOutputModes: string[];
  skills: {
    id: string;
    name: string;
    description: string;
    tags: string[];
    examples: string[];
    inputModes: string[];
    outputModes: string[];
  }[];
};
export type AgentCheck = {
  status: 'ok' | 'failed';
  /** The kind of failure, such as `communication`. */
  error: string | null;
  detail: string;
  latency_ms: number | null;
  checked_at: string;
};
export type AgentFields = {
  id: string;
  name: string;
  type: string;
  execution_type: string | null;
  status: 'active' | 'inactive' | 'deprecated';
  /** The current version, to which `configuration` and the schemas belong. */
  version: string;
  /** The highest published version, which invocations use unless they name a version. */
  published_version: string | null;
  created_at: string;
  updated_at: string;
  last_used: string | null;
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  team_id: string | null;
  visibility: 'private' | 'public';
  license: string | null;
  repository_url: string | null;
  url: string | null;
  provider_name: string | null;
  provider_url: string | null;
  authentication_type: string | null;
  capabilities_streaming: boolean;
  capabilities_push: boolean;
  capabilities_history: boolean;
  budget: Budget | null;
  limits: AgentLimits | null;
  circuit?: Circuit;
  provenance: Provenance | null;
  /** Where the agent was imported from. */
  source: AgentSource | null;
  /** The last check of the agent's counterpart; for its owner and admins. */
  last_check: AgentCheck | null;
  display_type: string;
  display_name: string;
  /**
   * What the caller may do with the agent. `publish` means publishing to the marketplace.
   * `delete` is possible once no active run uses the agent.
   */
  can: ('invoke' | 'update' | 'delete' | 'publish_version' | 'deprecate_version' | 'publish' | 'move')[];
};
export type AgentImport = {
  agents: AgentOffer[];
};
export type AgentLimits = {
  /** Calls at once. */
  concurrency?: number;
  /** Calls in a time, evenly spread; so many may come at once. */
  rate?: {
    calls: number;
    per: 'second' | 'minute' | 'hour' | 'day';
  };
  breaker?: {
    /** So many failures of the counterpart (communication and timeout), with no success between. */
    failures: number;
    /** Seconds in which they occur. Default: 60. */
    within?: number;
    /** Seconds before one call may try whether the agent works. Default: 30. */
    open_for?: number;
  };
};
export type AgentLimitsPatch = {
  /** Calls at once. */
  concurrency?: number | null;
  /** Calls in a time, evenly spread; so many may come at once. */
  rate?: {
    calls?: number | null;
    per?: ('second' | 'minute' | 'hour' | 'day') | null;
  } | null;
  breaker?: {
    /** So many failures of the counterpart (communication and timeout), with no success between. */
    failures?: number | null;
    /** Seconds in which they occur. Default: 60. */
    within?: number | null;
    /** Seconds before one call may try whether the agent works. Default: 30. */
    open_for?: number | null;
  } | null;
};
export type AgentOffer = {
  select: string;
  /** `exists`: an agent of the caller was imported from there before, and stays as it is. */
  status: 'new' | 'imported' | 'exists';
  agent_id: string | null;
  name: string;
  description: string | null;
  type: string;
  execution_type: string | null;
  configuration: Record<string, unknown>;
  input_schema: Record<string, unknown> | null;
  output_schema: Record<string, unknown> | null;
  skills: string[];
};
export type AgentRefresh = {
  /** Whether the source still offers it. */
  found: boolean;
  changes: AgentSourceChange[];
  applied: boolean;
  /** The agent's current version. */
  version: string;
};
export type AgentResource = {
  kind: 'agent';
  name: string;
  type: 'docker' | 'api' | 'a2a' | 'llm' | 'vision' | 'audio' | 'sensor' | 'workflow';
  version: SemanticVersion;
  visibility: 'private' | 'public';
  description?: string | null;
  execution_type?: ('docker' | 'api' | 'a2a' | 'framework' | 'edge') | null;
  status?: ('active' | 'inactive' | 'deprecated') | null;
  documentation?: string | null;
  license?: string | null;
  repository_url?: string | null;
  configuration?: Record<string, unknown> | null;
  /** JSON Schema 2020-12. */
  input_schema?: Record<string, unknown> | null;
  /** JSON Schema 2020-12. */
  output_schema?: Record<string, unknown> | null;
  modalities?: Words;
  capabilities?: Words;
  url?: string | null;
  provider_name?: string | null;
  provider_url?: string | null;
  authentication_type?: ('none' | 'api_key' | 'oauth' | 'jwt') | null;
  authentication_config?: Record<string, unknown> | null;
  capabilities_streaming?: boolean | null;
  capabilities_push?: boolean | null;
  capabilities_history?: boolean | null;
  tags?: Words;
  limits?: AgentLimits | null;
  budget?: Budget | null;
  skills?:
    | {
        name: string;
        description?: string | null;
        tags?: Texts;
        examples?: Texts;
        input_modes?: Texts;
        output_modes?: Texts;
        id?: unknown;
        agent_id?: unknown;
      }[]
    | null;
  /** Publish the version, so that workflows use it. */
  publish?: boolean;
};
export type AgentSession = {
  id: string;
  agent_id: string;
  agent_name: string;
  /** The id that its calls name. */
  session: string;
  /** How many messages are kept. */
  messages: number;
  created_at: string;
  updated_at: string;
};
export type AgentSessionMessage = {
  role: 'user' | 'assistant';
  text: string;
  said_at: string;
};
export type AgentSessionWithMessages = {
  id: string;
  agent_id: string;
  agent_name: string;
  /** The id that its calls name. */
  session: string;
  /** How many messages are kept. */
  messages: number;
  created_at: string;
  updated_at: string;
  /** Oldest first. */
  said: AgentSessionMessage[];
};
export type AgentSkill = AgentSkillFields & {
  description: string | null;
  tags: string[] | null;
  examples: string[] | null;
  input_modes: string[] | null;
  output_modes: string[] | null;
};
export type AgentSkillFields = {
  id: string;
  agent_id: string;
  name: string;
};
export type AgentSource = {
  from: 'a2a' | 'openapi' | 'mcp' | 'langgraph';
  url: string;
  select: string;
  imported_at: string;
  refreshed_at: string | null;
};
export type AgentSourceChange = {
  field: string;
  before: unknown;
  after: unknown;
};
export type AgentStats = {
  canary: AgentCanary | null;
  versions: AgentVersionStats[];
};
export type AgentVersion = AgentVersionFields & {
  configuration: Record<string, unknown>;
  changelog: string | null;
  input_schema: Record<string, unknown>;
  output_schema: Record<string, unknown>;
};
export type AgentVersionFields = {
  id: string;
  agent_id: string;
  version: string;
  created_at: string;
  published_at: string | null;
  /** Id of the user. */
  created_by: string;
  status: 'draft' | 'published' | 'deprecated';
};
export type AgentVersionStats = {
  version: string;
  calls: number;
  faults: number;
  /** Of the calls that completed. */
  latency_p50_ms: number | null;
  latency_p95_ms: number | null;
  /** Null: unknown. */
  cost_usd: number | null;
  input_tokens: number;
  output_tokens: number;
};
export type AgentVersionSummary = {
  version: string;
  status: 'draft' | 'published' | 'deprecated';
  created_at: string;
  published_at: string | null;
};
export type AppliedResource = {
  /** Id of the record. */
  id: string;
  set: string;
  kind: 'agent' | 'workflow' | 'webhook' | 'hook' | 'event_source';
  name: string;
  applied_by: UserReference;
  /** When the set last changed it. */
  applied_at: string;
  /** When the set pruned it. */
  archived_at: string | null;
};
export type ApplyPlan = {
  set: string;
  dry_run: boolean;
  digest: string;
  /** In the order in which it is applied. */
  plan: {
    kind: 'agent' | 'workflow' | 'webhook' | 'hook' | 'event_source';
    name: string;
    /** Null in a dry run for what would be created. */
    id: string | null;
    /** `keep`: the set has made it before, does not name it any more, and `prune` is not set. */
    action: 'create' | 'update' | 'unchanged' | 'archive' | 'keep';
    /** Names of the fields that an update changes. */
    changes: string[];
    /**
     * Such as a source of functions that is not available now: its content of the revision
     * before is kept. Of agents, the warnings of their records.
     */
    warnings: PlanWarning[];
  }[];
};
export type ApplySetRequest = {
  /** Name of the set; those of each user and team are separate. */
  set: string;
  /** A team, for which everything is made. Default: for you. */
  team_id?: string | null;
  resources: (AgentResource | WorkflowResource | WebhookResource | HookResource | EventSourceResource)[];
  /** Archive what the set has made before and does not name any more. */
  prune?: boolean;
  /** Only answer with the plan. */
  dry_run?: boolean;
  /** Digest of the plan that you have seen; needed if something is archived. */
  digest?: string;
};
export type ApproveMarketplaceItemRequest = {
  /** Default: the latest submitted version that awaits moderation. */
  version?: string;
  /** Of what was reviewed: 409 `content_changed` if the version has other content. */
  digest?: string | null;
  /**
   * When what was reviewed was submitted: 409 `content_changed` if it was submitted again
   * since, such as with another description.
   */
  submitted_at?: string | null;
  reason?: string | null;
};
export type AuditEntry = {
  /** A number that grows; entries of one moment may be out of order. */
  id: string;
  at: string;
  /** Whoever did it, by the present name. Of a failed log-in: whose account. */
  actor: {
    id: string;
    username: string | null;
  } | null;
  /** An `operationId`, or a name of docs/audit.md such as `log_in`. */
  action: string;
  /** `refused`: 403, or a wrong credential. */
  outcome: 'done' | 'refused' | 'failed';
  object: {
    type: string;
    id: string | null;
  } | null;
  credential: {
    type: 'session' | 'token' | 'client' | 'worker' | 'none';
    /** Of the session, access token or machine client. */
    id: string | null;
  };
  via: 'api' | 'a2a' | 'mcp' | 'openai' | 'scim' | 'system';
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
  /** Names of the fields that the request had. */
  fields: string[];
  /** Fields that changed, with their values where these are harmless. */
  changes: Record<
    string,
    {
      old?: unknown;
      new?: unknown;
    }
  >;
  details: Record<string, unknown>;
  /**
   * The team that held the object when it was done. Entries of before this was noted have
   * none.
   */
  team_id: string | null;
  /** The team to which the object moved. */
  to_team_id: string | null;
  /** Only with `after`: what to give as `after` to go on after this entry. */
  cursor?: string;
};
export type AuditHead = {
  no: string;
  hash: string;
};
export type AuditVerification = {
  ok: boolean;
  /** Seals that were checked. */
  seals: number;
  entries: number;
  /** Seals whose entries were removed after their time. */
  removed: number;
  /** The least days after which entries were removed; null if none were. */
  removed_after_days: number | null;
  /** Entries that wait for the sealer, which runs every 10 seconds. */
  unsealed: number;
  /** The newest seal; null while there is more to check. */
  head: AuditHead | null;
  problems: {
    seal: string;
    code: string;
    message: string;
  }[];
  /** `after` of the next request; null at the end. */
  next: string | null;
};
export type AuthorizationForm = {
  response_type?: string;
  client_id?: string;
  redirect_uri?: string;
  state?: string;
  scope?: string;
  code_challenge?: string;
  code_challenge_method?: string;
  resource?: string;
  nonce?: string;
  prompt?: string;
  max_age?: string;
  action?: string;
  username?: string;
  password?: string;
  proof?: string;
  challenge?: string;
  code?: string;
  [name: string]: unknown;
};
export type AuthorizationServerMetadata = {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  device_authorization_endpoint: string;
  registration_endpoint?: string;
  revocation_endpoint: string;
  jwks_uri: string;
  scopes_supported: string[];
  response_types_supported: string[];
  response_modes_supported: string[];
  grant_types_supported: string[];
  code_challenge_methods_supported: string[];
  token_endpoint_auth_methods_supported: string[];
  revocation_endpoint_auth_methods_supported: string[];
  authorization_response_iss_parameter_supported: boolean;
  protected_resources: string[];
};
export type BackfillScheduleRequest = {
  /** The first time, included. */
  from: Instant;
  /** The last time, included; not in the future. */
  to: Instant;
};
export type BackfilledStart = {
  scheduled_at: string;
  outcome: 'started' | 'skipped' | 'missed' | 'failed';
  run_id: string | null;
};
export type Backups = {
  /** The newest that is complete. */
  complete: {
    /** The folder, on the machine that took it. */
    place: string;
    started_at: string;
    /** How long it took. */
    seconds: number;
    /** Of the whole folder. */
    bytes: number;
  } | null;
  /** The newest attempt that failed. */
  failed: {
    /** The folder, on the machine that took it. */
    place: string;
    ended_at: string;
    error: string;
  } | null;
  /** Attempts that failed since the last complete one. */
  failures: number;
  /** Null unless a backup is being taken. */
  running_since: string | null;
  /** What is wrong: there is none, it is old, or attempts fail. Null: nothing. */
  warning: string | null;
};
export type Budget = {
  max_cost_usd?: number | null;
  /** Input and output tokens together. */
  max_tokens?: number | null;
  /** Calls of agents. */
  max_invocations?: number | null;
  /**
   * How long the budget is for, before it begins anew: a day or month of UTC, or an ISO 8601
   * duration that begins with the first call. Default: it never begins anew.
   */
  window?: string | null;
  /** `stop` (default): the call is a fault. `ask`: people are asked to raise the budget. */
  on_exceed?: ('stop' | 'ask') | null;
};
export type BudgetAmounts = {
  cost_usd: number;
  tokens: number;
  invocations: number;
};
export type BudgetPatch = {
  max_cost_usd?: number | null;
  /** Input and output tokens together. */
  max_tokens?: number | null;
  /** Calls of agents. */
  max_invocations?: number | null;
  /**
   * How long the budget is for, before it begins anew: a day or month of UTC, or an ISO 8601
   * duration that begins with the first call. Default: it never begins anew.
   */
  window?: string | null;
  /** `stop` (default): the call is a fault. `ask`: people are asked to raise the budget. */
  on_exceed?: ('stop' | 'ask') | null;
};
export type BudgetState = {
  /** Of the agent, workflow, user or run. */
  id: string;
  subject: 'run' | 'workflow' | 'agent' | 'user';
  /** Of the subject; of a run that of its workflow. */
  name: string | null;
  owner_id: string | null;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  /** That holds the agent or workflow. */
  team_id: string | null;
  max_cost_usd: number | null;
  max_tokens: number | null;
  max_invocations: number | null;
  window: string | null;
  on_exceed: 'stop' | 'ask';
  /** Null: it begins with the next call. */
  window_from: string | null;
  window_to: string | null;
  /** In this window. */
  used: BudgetAmounts;
  /** Calls of unknown cost among those that were used. */
  unpriced: number;
  /** By calls under way. */
  reserved: BudgetAmounts;
  /** By which it is raised in this window. */
  raised: BudgetAmounts;
  can: 'raise'[];
};
export type Callback = {
  output?: unknown;
  /** A text, or `{type?, title?, detail?, status?}`; the task faults with it. */
  error?: unknown;
  [name: string]: unknown;
};
export type CallbackAnswer = {
  status: 'waiting' | 'leased' | 'completed' | 'failed' | 'timed_out' | 'cancelled';
};
export type Catalog = {
  name: 'default';
  functions: CatalogFunction[];
};
export type CatalogFunction = {
  name: string;
  version: string;
  /** The full name, as `call` of a task may name it. */
  call: string;
  runnable: boolean;
  summary: string;
  /** JSON Schema of `with`. */
  arguments: Record<string, unknown>;
};
export type ChangeMyPasswordRequest = {
  current_password: string;
  new_password: string;
};
export type ChoosePasswordRequest = {
  token: string;
  password: string;
};
export type Circuit = {
  state: 'closed' | 'open' | 'half_open';
  since: string;
  /** Since the last success. */
  failures: number;
  /** When an open circuit lets a call try the agent. */
  trial_at: string | null;
};
export type ClaimMapping = {
  username?: string;
  email?: string;
  display_name?: string;
  groups?: string | null;
  roles?: RoleRule[];
  /** If no rule fits. None: such users may not log in. */
  default_roles?: ('viewer' | 'approver' | 'builder' | 'admin')[];
  /** The claim of a log-in with a second factor, for `SECOND_FACTOR_ROLES`. */
  second_factor?: SecondFactorRule;
};
export type ClaimMappingPatch = {
  username?: string;
  email?: string;
  display_name?: string;
  groups?: string | null;
  roles?: RoleRule[];
  default_roles?: ('viewer' | 'approver' | 'builder' | 'admin')[];
  second_factor?: SecondFactorRule;
};
export type ClaimMappingRecord = {
  username: string;
  email: string;
  display_name: string;
  groups: string | null;
  roles: {
    claim: string;
    value: string;
    roles: ('viewer' | 'approver' | 'builder' | 'admin')[];
  }[];
  default_roles: ('viewer' | 'approver' | 'builder' | 'admin')[];
  second_factor: SecondFactorRuleRecord;
};
export type Client = ClientFields;
export type ClientFields = {
  id: string;
  client_id: string;
  name: string;
  /** What it may do; null: all that its user may. */
  scopes: string[] | null;
  created_at: string;
  expires_at: string;
  last_used: string | null;
  /**
   * A viewer's rights only, until its user has a second factor, which a role needs
   * (`SECOND_FACTOR_ROLES`).
   */
  awaits_second_factor: boolean;
};
export type ClientRegistration = {
  /** HTTPS, `http` on loopback (any port will do later), or a scheme of your own. */
  redirect_uris?: string[] | null;
  client_name?: string | null;
  client_uri?: string | null;
  /** `none`, `client_secret_basic` (default) or `client_secret_post`. */
  token_endpoint_auth_method?: string | null;
  grant_types?: string[] | null;
  response_types?: string[] | null;
  [name: string]: unknown;
};
export type CloudEvent = {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  subject?: string;
  time?: string;
  datacontenttype?: string;
  dataschema?: string;
  data?: unknown;
  data_base64?: string;
  [name: string]: unknown;
};
export type CloudEventOutput = {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  subject?: string;
  time?: string;
  datacontenttype?: string;
  dataschema?: string;
  data?: unknown;
  data_base64?: string;
  [name: string]: unknown;
};
export type CommentHumanTaskRequest = {
  comment: string;
};
export type CompleteJobRequest = {
  output: unknown;
  /** What the job has used; it counts in budgets and usage. */
  usage?: JobUsage;
  /** Attempt that the caller works on: 409 if the job has been handed out again. */
  attempt?: number;
};
export type ConfirmMyTotpRequest = {
  code: string;
};
export type CreateAbsenceRequest = {
  user_id?: string;
  /** A user, by id or username. */
  deputy: string;
  /** Default: now. */
  from?: Instant;
  until: Instant;
  note?: string | null;
};
export type CreateAgentRequest = {
  name: string;
  type: 'docker' | 'api' | 'a2a' | 'llm' | 'vision' | 'audio' | 'sensor' | 'workflow';
  version: SemanticVersion;
  visibility: 'private' | 'public';
  description?: string | null;
  execution_type?: ('docker' | 'api' | 'a2a' | 'framework' | 'edge') | null;
  status?: ('active' | 'inactive' | 'deprecated') | null;
  documentation?: string | null;
  license?: string | null;
  repository_url?: string | null;
  configuration?: Record<string, unknown> | null;
  /** JSON Schema 2020-12. */
  input_schema?: Record<string, unknown> | null;
  /** JSON Schema 2020-12. */
  output_schema?: Record<string, unknown> | null;
  modalities?: Words;
  capabilities?: Words;
  url?: string | null;
  provider_name?: string | null;
  provider_url?: string | null;
  authentication_type?: ('none' | 'api_key' | 'oauth' | 'jwt') | null;
  authentication_config?: Record<string, unknown> | null;
  capabilities_streaming?: boolean | null;
  capabilities_push?: boolean | null;
  capabilities_history?: boolean | null;
  tags?: Words;
  limits?: AgentLimits | null;
  budget?: Budget | null;
  /** The team that it is for; default: the caller. */
  team_id?: string | null;
  skills?:
    | {
        name: string;
        description?: string | null;
        tags?: Texts;
        examples?: Texts;
        input_modes?: Texts;
        output_modes?: Texts;
        id?: unknown;
        agent_id?: unknown;
      }[]
    | null;
};
export type CreateAgentSkillRequest = {
  name: string;
  description?: string | null;
  tags?: Texts;
  examples?: Texts;
  input_modes?: Texts;
  output_modes?: Texts;
};
export type CreateAgentVersionRequest = {
  version: SemanticVersion;
  configuration?: Record<string, unknown> | null;
  input_schema?: Record<string, unknown> | null;
  output_schema?: Record<string, unknown> | null;
  changelog?: string | null;
};
export type CreateEventSourceRequest = {
  /** `source` of the events, as it is sent. */
  source: string;
  /** Only this machine client of yours may send it. */
  client_id?: string | null;
  /** Only this user may send it; another user only what they share with you. */
  user_id?: string | null;
  /** Users whose workflows may get your events of it. */
  shared_with?: string[];
  description?: string | null;
  /** A team, to whose events it applies. */
  team_id?: string | null;
};
export type CreateFileLinkRequest = {
  /** Lifetime of the link in seconds. */
  expires_in?: number;
};
export type CreateHookRequest = {
  name: string;
  /** How the sender signs its calls. */
  scheme: 'github' | 'stripe' | 'slack' | 'standard';
  /** Name of a secret of the owner or the team; its value signs the calls. */
  secret: string;
  /** Calls that are signed with it are taken too, during a rotation. */
  former_secret?: string | null;
  /** Of the events. Default: the webhook's own address. */
  source?: string | null;
  /** Of the events. Default: from the call, such as `com.github.pull_request.opened`. */
  event_type?: string | null;
  /** How old, or ahead, the time of a signature may be. GitHub signs none. */
  tolerance_seconds?: number;
  active?: boolean;
  /** A team, whose secrets sign the calls. */
  team_id?: string | null;
};
export type CreateIssuerRequest = {
  /** Short name: in addresses, and before the names of its groups (`corp:finance`). It stays. */
  name: string;
  /** What the log-in screen shows. */
  title: string;
  /** Address of the issuer exactly as its tokens have it in `iss`. */
  issuer: string;
  client_id: string;
  /** Of a confidential client. It is stored encrypted and never shown. */
  client_secret?: string | null;
  /** Default: what the configuration names. */
  jwks_uri?: string | null;
  /** Default: `openid`, `profile` and `email`. */
  scopes?: string[];
  mapping?: ClaimMapping;
  /** Default true: the first log-in makes the account. Otherwise only linked users log in. */
  creates_users?: boolean;
  /** The claim that has the `externalId` of users whom the issuer provisions by SCIM. */
  external_id_claim?: string | null;
  /** `aud` of access tokens of programs. Default: none, so such tokens are not accepted. */
  audiences?: string[];
  /** `typ` of such tokens (RFC 9068: `at+jwt`, the default); `none`: without one. */
  token_types?: ('at+jwt' | 'jwt' | 'none')[];
  /** Default true. Without it its sessions end. */
  enabled?: boolean;
};
export type CreateMachineRequest = {
  name: string;
  user_id: string;
  /** All must fit: claim paths with their value, such as `{"azp": "robot"}`. */
  claims: Record<string, string>;
  /** Such as `runs:read`, or `workflow:<id>` for one workflow and its runs. */
  scopes?: string[];
};
export type CreateMyClientRequest = {
  name: string;
  /** Such as `runs:read`, or `workflow:<id>` for one workflow and its runs. */
  scopes?: string[];
  expires_at?: Instant;
};
export type CreateMyPasskeyRequest = {
  name: string;
  challenge: string;
  passkey: PasskeyAnswer;
};
export type CreateMyTokenRequest = {
  name: string;
  /** Such as `runs:read`, or `workflow:<id>` for one workflow and its runs. */
  scopes: string[];
  expires_at: Instant;
};
export type CreateNotificationChannelRequest = {
  name: string;
  format: 'slack' | 'teams' | 'mattermost';
  /** The address that the chat gave; it is never shown again. */
  url: string;
  group?: string | null;
  workflow_id?: string | null;
  team_id?: string | null;
  /** What the chat is told. Default: everything. */
  kinds?: ('assigned' | 'candidate' | 'reminder' | 'escalation' | 'expiring' | 'mentioned')[] | null;
};
export type CreatePriceRequest = {
  provider?: string | null;
  model: string;
  input_per_million_usd: number;
  output_per_million_usd: number;
  cached_input_per_million_usd?: number | null;
  /** Default: now. */
  valid_from?: Instant | null;
  /** Default: until a later price of the model begins. */
  valid_to?: Instant | null;
};
export type CreateScimTokenRequest = {
  name: string;
  expires_at?: Instant;
};
export type CreateSessionRequest =
  | {
      grant_type?: 'password';
      /** The username or email address. */
      username: string;
      password: string;
    }
  | {
      grant_type: 'second_factor';
      challenge: string;
      /** Of the authenticator app: six digits. */
      code?: string;
      recovery_code?: string;
      passkey?: PasskeyAnswer;
    };
export type CreateTeamRequest = {
  name: string;
  description?: string | null;
  admin?: string;
};
export type CreateUserRequest = {
  username: string;
  email: string;
  display_name?: string | null;
  roles: ('viewer' | 'approver' | 'builder' | 'admin')[];
  groups?: string[];
  /**
   * Null: the user logs in by an external issuer, or chooses a password after
   * `sendInvitation`.
   */
  password: string | null;
  budget?: Budget | null;
};
export type CreateWebhookRequest = {
  url: string;
  /**
   * Event types, such as `io.cadenza.hitl` (and all types below it) or `*.faulted.v1`.
   * Default: all types.
   */
  types?: string[] | null;
  description?: string | null;
  /** `whsec_…` (Standard Webhooks); generated if omitted. */
  secret?: string | null;
  active?: boolean | null;
  /** A team: the webhook gets the events of its runs. Default: what the caller may see. */
  team_id?: string | null;
};
export type CreateWorkerTokenRequest = {
  name: string;
  expires_at?: Instant;
  /** Further agents that it serves. */
  agent_ids?: string[];
};
export type CreateWorkflowRequest = {
  name: string;
  /**
   * Open Workflow Specification DSL 1.0.x: an object, or its text as YAML or JSON, which is
   * kept as it is written, with its comments. A missing `document` is generated from `name`.
   */
  definition: Record<string, unknown> | string;
  description?: string | null;
  visibility?: ('private' | 'public') | null;
  tags?: string[] | null;
  budget?: Budget | null;
  /** The team that it is for; default: the caller. */
  team_id?: string | null;
  runners?: Runners | null;
};
export type DecideDeviceRequestRequest = {
  /** As the program shows it; case, spaces and hyphens do not count. */
  user_code: string;
  decision: 'approve' | 'deny';
};
export type DecideHumanTaskRequest = {
  /** One of the task's `decisions`. */
  decision: string;
  /** Must match the task's `form_schema`, unless the decision is `reject`. */
  payload?: unknown;
  comment?: string | null;
};
export type DecideHumanTasksRequest = {
  decisions: {
    /** One of the task's `decisions`. */
    decision: string;
    /** Must match the task's `form_schema`, unless the decision is `reject`. */
    payload?: unknown;
    comment?: string | null;
    task_id: string;
  }[];
};
export type DecisionForm = Record<string, string>;
export type DefinitionProblem = {
  /** JSON pointer (RFC 6901) into the definition. */
  pointer: string;
  code: string;
  message: string;
  severity: 'error' | 'unsupported' | 'warning';
  /** If the definition was sent as YAML: where it is in this text, from 1; so is `column`. */
  line?: number;
  column?: number;
};
export type DefinitionValidation = {
  valid: boolean;
  /**
   * Whether the definition is valid, nothing in it is unsupported, and every agent has a
   * matching version.
   */
  runnable: boolean;
  problems: DefinitionProblem[];
};
export type DelegateHumanTaskRequest = {
  /** A user, by id or username. */
  to: string;
};
export type Delivery = DeliveryFields;
export type DeliveryDetail = DeliveryFields & {
  /** The exact request body. */
  body: string;
};
export type DeliveryFields = {
  id: string;
  webhook_id: string;
  /**
   * `webhook-id` of the request. Also the `id` of the CloudEvent, unless a workflow task
   * emitted it.
   */
  event_id: string;
  type: string;
  run_id: string | null;
  /** Sequence number of the event in the run's log. */
  seq: number | null;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  /** The last 50 attempts, oldest first. */
  attempt_log: {
    at: string;
    status: number | null;
    error: string | null;
    duration_ms: number;
  }[];
  response_status: number | null;
  error: string | null;
  redelivery_of: string | null;
  created_at: string;
  last_attempt_at: string | null;
  next_attempt_at: string | null;
  delivered_at: string | null;
};
export type DeviceCodes = {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  /** Lifetime in seconds. */
  expires_in: number;
  /** Seconds between two token requests. */
  interval: number;
};
export type DeviceRequest = {
  /** The program that asks, as it names itself. */
  device: string | null;
  /** The address that asks. */
  address: string;
  created_at: string;
  expires_at: string;
};
export type DeviceRequestForm = {
  client_id?: string;
  scope?: string;
  [name: string]: unknown;
};
export type DslError = {
  type: string;
  status: number;
  title?: string;
  detail?: string;
  /** JSON pointer of the task that raised it. */
  instance?: string;
  [name: string]: unknown;
};
export type Erasure = {
  user_id: string;
  /**
   * Of a dry run: `planned`, or `blocked` if the erasure would be refused. `incomplete`:
   * Temporal refuses to remove histories (`histories.refused`); everything else is done.
   */
  status: 'planned' | 'blocked' | 'running' | 'incomplete' | 'done';
  runs: 'keep' | 'remove';
  free_text: 'report' | 'replace';
  requested_at: string | null;
  finished_at: string | null;
  /** What has to be handed over first, with the first ids of each kind. */
  owned: Record<
    string,
    {
      count: number;
      ids: string[];
    }
  >;
  /** Of a dry run: why the erasure would be 409, with the codes of the refusals. */
  obstacles: {
    code: string;
    detail: string;
  }[];
  /** Records by kind. */
  removed: Record<string, number>;
  /** Records that stay without the name. */
  replaced: Record<string, number>;
  kept: {
    kind: string;
    count: number | null;
    why: string;
  }[];
  /** Names of the user in texts that people wrote and agents returned. */
  texts: {
    /** `stopped`: a dry run did not have the time to search everything, so the counts are parts. */
    status: 'waiting' | 'searching' | 'done' | 'stopped';
    names: {
      name: 'username' | 'email' | 'display_name';
      treatment: 'searched' | 'only_reported' | 'not_searched';
      why: string | null;
    }[];
    /** Records by kind in which a name was found. */
    found: Record<string, number>;
    /** Those among them in which it was replaced. */
    replaced: Record<string, number>;
    /** With `free_text: replace`: where a name stays, with the reason. */
    stays: {
      kind: string;
      count: number | null;
      why: string;
    }[];
    /** The first 200 records in which a name is still. */
    places: {
      kind: string;
      id: string;
      why: string | null;
    }[];
  };
  /** Histories of runs in Temporal, which are encrypted. */
  histories: {
    /** Runs whose histories Temporal has removed. */
    removed: number;
    /** Runs whose histories are still to be removed. */
    waiting: number;
    /**
     * Runs whose histories Temporal refuses to remove. `POST /users/{id}/erasure/retry` tries
     * again.
     */
    refused: number;
    /** How it refuses, as a status of gRPC: `PERMISSION_DENIED`. */
    refusal: string | null;
    /** Ended runs of the user whose histories Temporal still keeps. */
    kept: number;
    /** When the last of them is gone; null without one, and while Temporal does not answer. */
    kept_until: string | null;
  };
};
export type ErasureRequest = {
  /** Only report what would happen. */
  dry_run?: boolean;
  /** Ended runs that the user owns: `remove` takes them along. */
  runs?: 'keep' | 'remove';
  /**
   * The user's names in texts of everybody: `report` lists the records, `replace` replaces
   * names where records may change, which cannot be undone.
   */
  free_text?: 'report' | 'replace';
  /** The username, unless `dry_run`. */
  confirm?: string;
};
export type EvaluateAgentRequest = {
  name?: string;
  /** The data set. Either this or `file_id`. */
  cases?: EvaluationCase[];
  /**
   * A file with the data set: a JSON array of cases, a case on each line, or CSV; at most 4
   * MiB.
   */
  file_id?: string;
  /** Of every case, besides its own. */
  checks?: EvaluationCheck[];
  /**
   * The others are compared with the first one. Default: the highest published version and the
   * draft.
   */
  versions?: string[];
  /** An agent that gets `{criteria, input, output, expected}` of each call and judges it. */
  judge?: NewEvaluationJudge;
  /** Calls of each version at the same time. */
  concurrency?: number;
};
export type Evaluation = {
  id: string;
  agent_id: string;
  name: string | null;
  status: 'running' | 'completed' | 'faulted' | 'cancelled';
  /** The run with all calls. Null after it was removed. */
  run_id: string | null;
  /** The evaluation whose cases it tries again; the results of the others are taken over. */
  retry_of: string | null;
  started_by: string;
  /** Display name, or else username; null without a person. */
  started_by_name?: string | null;
  versions: string[];
  judge: EvaluationJudge | null;
  checks: EvaluationCheck[];
  cases: number;
  /** Null until the run has completed. */
  report: EvaluationReport | null;
  error: DslError | null;
  created_at: string;
  finished_at: string | null;
};
export type EvaluationCase = {
  id?: string;
  input?: unknown;
  /** The output that passes. Absent: any. */
  expected?: unknown;
  checks?: EvaluationCheck[];
  /** Default: 1. */
  weight?: number;
};
export type EvaluationCaseResult = {
  version: string;
  status: 'passed' | 'failed' | 'error';
  score: number;
  output?: unknown;
  /** What the judge has answered. */
  judgement?: unknown;
  error?: string;
  /** What it has failed: `expected`, `judge`, or the names of checks. */
  failed: string[];
  latency_ms: number | null;
  omitted?: string[];
};
export type EvaluationCaseWithResults = {
  /** Its place in the data set, from 0. */
  number: number;
  id?: string;
  input?: unknown;
  /** The output that passes. Absent: any. */
  expected?: unknown;
  checks?: EvaluationCheck[];
  /** Default: 1. */
  weight?: number;
  /** Fields over 16 KiB, which are not kept beyond the run. */
  omitted?: string[];
  marks: ('failed' | 'error' | 'regressed' | 'improved' | 'differs')[];
  /** Of each version. Null until the run has completed. */
  results: EvaluationCaseResult[] | null;
};
export type EvaluationCheck = {
  name?: string;
  /** jq on the output, with `$input` and `$expected`. It holds unless it is false or null. */
  jq: string;
};
export type EvaluationFigures = {
  version: string;
  passed: number;
  failed: number;
  /** Cases without an output, or without a judgement. */
  errors: number;
  /** The weighted mean of the cases' scores, 0 to 1. */
  score: number;
  /** Of the calls that have given an output. */
  latency_ms: EvaluationLatency | null;
  used: EvaluationSpending;
  judge_used: EvaluationSpending;
  /** Cases that the first version passes and this one does not. */
  regressed: number;
  /** Cases that this version passes and the first one does not. */
  improved: number;
};
export type EvaluationJudge = {
  agent_id: string;
  /** Its name at that time. */
  agent: string;
  version: string;
  criteria: string | null;
  pass: string | null;
};
export type EvaluationLatency = {
  p50: number;
  p95: number;
};
export type EvaluationReport = {
  versions: EvaluationFigures[];
  /** Cases whose outputs are not all the same. */
  differing: number;
};
export type EvaluationSpending = {
  /** Null: unknown. */
  cost_usd: number | null;
  input_tokens: number;
  output_tokens: number;
};
export type EventSenders = {
  /** Ids of users. */
  users: string[];
};
export type EventSource = {
  id: string;
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  team_id: string | null;
  source: string;
  client_id: string | null;
  user_id: string | null;
  /** Display name, or else username; null without a person. */
  user_name?: string | null;
  shared_with: string[];
  description: string | null;
  created_at: string;
  updated_at: string;
};
export type EventSourceResource = {
  kind: 'event_source';
  /** `source` of the events, as it is sent. */
  source: string;
  /** Only this machine client of yours may send it. */
  client_id?: string | null;
  /** Only this user may send it; another user only what they share with you. */
  user_id?: string | null;
  /** Users whose workflows may get your events of it. */
  shared_with?: string[];
  description?: string | null;
};
export type ExecuteWorkflowRequest = {
  input_params?: Record<string, unknown>;
  /** Unique for workflow and owner while the run lives. */
  key?: string;
  tags?: string[];
  labels?: Record<string, string>;
  /** Of the run with all runs that it starts. */
  budget?: Budget;
};
export type FailJobRequest = {
  /** Name of a standard error or a URI. Default: `communication`. */
  type?: string;
  title?: string;
  detail?: string;
  status?: number;
  /** Hand the job out again, if it has attempts left. */
  retry?: boolean;
  /** What this attempt has used all the same; it counts in budgets and usage. */
  usage?: JobUsage;
  /** Attempt that the caller works on: 409 if the job has been handed out again. */
  attempt?: number;
};
export type File = {
  id: string;
  name: string;
  media_type: string;
  /** Size in bytes. */
  size: number;
  /** SHA-256 of the content, in lower-case hexadecimal. */
  sha256: string;
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  team_id: string | null;
  visibility: 'private' | 'public';
  /** Only runs of this workflow take it, as input. */
  workflow_id: string | null;
  /** When it is removed, unless a run of its workflow takes it first. */
  expires_at: string | null;
  created_at: string;
};
export type FileLink = {
  url: string;
  expires_at: string;
};
export type GetHealthResponse = {
  status: 'ok';
};
export type GetOpenApiResponse = {
  openapi: string;
  [name: string]: unknown;
};
export type HeartbeatJobRequest = {
  /** What the worker does, or percent. Those who follow the run see it. */
  progress?: string | number;
  /** Attempt that the caller works on: 409 if the job has been handed out again. */
  attempt?: number;
};
export type HookAnswer = {
  /** What Slack asked for. */
  challenge?: string;
};
export type HookResource = {
  kind: 'hook';
  name: string;
  /** How the sender signs its calls. */
  scheme: 'github' | 'stripe' | 'slack' | 'standard';
  /** Name of a secret of the owner or the team; its value signs the calls. */
  secret: string;
  /** Calls that are signed with it are taken too, during a rotation. */
  former_secret?: string | null;
  /** Of the events. Default: the webhook's own address. */
  source?: string | null;
  /** Of the events. Default: from the call, such as `com.github.pull_request.opened`. */
  event_type?: string | null;
  /** How old, or ahead, the time of a signature may be. GitHub signs none. */
  tolerance_seconds?: number;
  active?: boolean;
};
export type HumanDecision = {
  id: string;
  decision: string;
  payload: unknown;
  comment: string | null;
  decided_by: string;
  /** Display name, or else username; null without a person. */
  decided_by_name?: string | null;
  decided_at: string;
  /**
   * Whether the run has received the decision. If not yet, delivery is retried automatically.
   * Null for a vote on a task that is still open.
   */
  delivered: boolean | null;
};
export type HumanTask = HumanTaskFields & {
  description: string | null;
  /** The data to decide on. */
  subject: unknown;
  /**
   * What led here: the steps and values that the definition shows to the people who are asked,
   * as they were when the task was created. Lists omit it.
   */
  context: HumanTaskContextEntry[] | null;
  /** JSON Schema 2020-12 of the payload of every decision but `reject`. */
  form_schema: Record<string, unknown> | null;
  decisions: {
    id: string;
    label: string;
    requires_comment: boolean;
  }[];
  candidates: {
    users: string[];
    roles: string[];
    groups: string[];
    teams?: string[];
  };
  /** With a quorum: votes for each decision. */
  tally: Record<string, number> | null;
  /** The latest 100, oldest first. */
  comments: HumanTaskComment[];
  decision: HumanDecision | null;
};
export type HumanTaskAuditEntry = {
  id: string;
  at: string;
  action:
    | 'created'
    | 'claimed'
    | 'released'
    | 'delegated'
    | 'escalated'
    | 'commented'
    | 'voted'
    | 'decided'
    | 'expired'
    | 'cancelled';
  /** How it was done; `workflow`: by the run itself, by a timer or at its end. */
  via: 'api' | 'batch' | 'link' | 'a2a' | 'workflow' | 'mcp' | 'system';
  /** Who did it, by the name at that time; null for the run itself. */
  actor: UserReference | null;
  /** Only the role of an admin allowed it. */
  as_admin: boolean;
  /**
   * What belongs to the action, such as `to` and `from` (users) of a delegation. While the
   * task is undecided, candidates do not see the decision in other people's votes.
   */
  data: Record<string, unknown>;
};
export type HumanTaskBatch = {
  results: {
    task_id: string;
    /** The status that a single request for this task would have returned. */
    status: number;
    task?: HumanTask;
    decision?: HumanDecision;
    problem?: Problem;
  }[];
};
export type HumanTaskComment = {
  id: string;
  comment: string;
  created_by: string;
  /** Display name, or else username; null without a person. */
  created_by_name?: string | null;
  created_at: string;
};
export type HumanTaskContextEntry = {
  name: string;
  /** JSON pointer of the step in the definition; null for a value. */
  task: string | null;
  /**
   * Status of the step when the human task was created; `skipped`: its `if` was false,
   * `pending`: the run had not come to it. Null for a value.
   */
  status:
    | ('running' | 'waiting' | 'suspended' | 'cancelled' | 'faulted' | 'completed' | 'skipped' | 'pending')
    | null;
  /** The output of the step, or the value. */
  value: unknown;
  /** Whether the value was too large to keep: over 8 KiB, or 64 KiB together. */
  value_omitted: boolean;
};
export type HumanTaskDecided = {
  task: HumanTask;
  decision: HumanDecision;
};
export type HumanTaskFields = {
  id: string;
  run_id: string;
  workflow_id: string | null;
  workflow_name: string;
  /** The team of the run's workflow. */
  team_id: string | null;
  /** JSON pointer of the task in the definition. */
  task: string;
  title: string;
  status: 'open' | 'claimed' | 'decided' | 'expired' | 'cancelled';
  priority: number;
  /** Id or username, as the definition gives it; the id after a delegation. */
  assignee: string | null;
  /** Display name, or else username; null without a person. */
  assignee_name?: string | null;
  claimed_by: string | null;
  /** Display name, or else username; null without a person. */
  claimed_by_name?: string | null;
  claimed_at: string | null;
  due_at: string | null;
  expires_at: string | null;
  escalation_level: number;
  quorum: {
    approvals: number;
    rejections: number;
    exclude_initiator: boolean;
    exclude?: {
      users: string[];
      groups: string[];
    };
  } | null;
  /** To whom candidates may delegate. */
  delegate: 'candidates' | 'anyone';
  /**
   * Users who delegated their vote (id, or a name without a user), and who decides in their
   * place.
   */
  delegations: {
    from: string;
    to: string;
  }[];
  /** With a quorum: the caller's vote. */
  my_vote: {
    decision: string;
    comment: string | null;
    voted_at: string;
  } | null;
  /** What the caller can currently do with the task. */
  can: ('decide' | 'claim' | 'release' | 'delegate' | 'comment' | 'see_run')[];
  /**
   * Why the caller cannot do the rest: for each action the `code` of the error that it would
   * return, such as `initiator_excluded`, `delegated`, `not_a_candidate`, `role_required`,
   * `claimed_by_another`, `already_voted`, `already_decided`, `task_expired`,
   * `task_cancelled`, `run_finished`. `already_claimed` means by the caller;
   * `no_other_candidate` means that there is nobody to delegate to.
   */
  cannot: Partial<Record<'decide' | 'claim' | 'release' | 'delegate' | 'comment' | 'see_run', string>>;
  created_at: string;
  updated_at: string;
};
export type HumanTaskSummary = {
  open: number;
  overdue: number;
  claimed_by_me: number;
};
export type IdentityIssuer = {
  id: string;
  name: string;
  title: string;
  issuer: string;
  client_id: string;
  has_secret: boolean;
  jwks_uri: string | null;
  scopes: string[];
  mapping: ClaimMappingRecord;
  external_id_claim: string | null;
  audiences: string[];
  token_types: string[];
  creates_users: boolean;
  enabled: boolean;
  /** The settings `OIDC_…` define it; only they change it. */
  from_settings: boolean;
  /** To register at the issuer. */
  redirect_uri: string;
  /** To register at the issuer, if it can. */
  back_channel_logout_uri: string;
  created_at: string;
  updated_at: string;
};
export type ImportAgentsRequest = {
  from: 'a2a' | 'openapi' | 'mcp' | 'langgraph';
  /**
   * Of the A2A agent or its card, the OpenAPI document, the MCP server, or the LangGraph
   * server.
   */
  url: string;
  /**
   * What to import: ids of operations, names of tools, or assistants. `*` of an MCP server
   * makes one agent with all tools as its skills. Default: all.
   */
  select?: string[];
  /**
   * Takes over the schemas of answers, too (`openapi`, `mcp`). An answer that does not fit is
   * then an error.
   */
  output_schemas?: boolean;
  /** Only shows what would be made. */
  dry_run?: boolean;
  version?: SemanticVersion;
  visibility?: 'private' | 'public';
  authentication_type?: ('none' | 'api_key' | 'oauth' | 'jwt') | null;
  /** Used for reading the source, and kept by the agents. `<NAME>` stands for a secret. */
  authentication_config?: Record<string, unknown> | null;
};
export type InboundWebhook = {
  id: string;
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  team_id: string | null;
  name: string;
  /** The address to give to the sender. */
  url: string;
  /** How the sender signs its calls. */
  scheme: 'github' | 'stripe' | 'slack' | 'standard';
  /** Name of a secret of the owner or the team; its value signs the calls. */
  secret: string;
  /** Calls that are signed with it are taken too, during a rotation. */
  former_secret: string | null;
  source: string;
  event_type: string | null;
  tolerance_seconds: number;
  active: boolean;
  last_received_at: string | null;
  /** When a call was refused last. */
  last_refused_at: string | null;
  /** Why it was refused. Of several within five seconds, the first. */
  last_refusal:
    ('unsigned' | 'wrong_signature' | 'old_signature' | 'no_secret' | 'source_bound' | 'inactive') | null;
  created_at: string;
  updated_at: string;
};
export type InstallMarketplaceItemRequest = {
  /**
   * Maps names in the item's `requires.secrets` to names of own secrets, or of the team's. For
   * an agent that comes with a workflow the name is `<agent>/<NAME>`.
   */
  secrets?: Record<string, string> | null;
  /** A team, for which it is installed. Default: for you. */
  team_id?: string | null;
};
export type Instant = string;
export type Invitation = {
  expires_at: string;
  /** Null: mails are not set up. */
  mailed_to: string | null;
  /**
   * Only where mails are not set up: hand it over yourself. It is shown once; it cannot be
   * read again.
   */
  link: string | null;
};
export type InvokeAgentRequest = {
  input?: unknown;
  /**
   * A semantic version, a range, or `draft` (owner and admins only). Default: the highest
   * published version, else the highest deprecated one, else the draft.
   */
  version?: string;
  /**
   * For language models: the conversation that this call continues, as the caller names it. Of
   * two calls at the same time, the second one fails.
   */
  session?: string;
  /**
   * Whether those who follow the run see the agent's output while it grows. Default: the
   * agent's `capabilities_streaming`.
   */
  stream?: boolean;
  /** Of the run with all runs that it starts. */
  budget?: Budget;
};
export type IssuerAddress = {
  url: string;
};
export type IssuerFacts = {
  authorization_endpoint: string;
  token_endpoint: string;
  jwks_uri: string;
  end_session_endpoint: string | null;
  userinfo_endpoint: string | null;
  /** Number of keys in its key set. */
  keys: number;
};
export type IssuerLogOutForm = {
  logout_token?: string;
  [name: string]: unknown;
};
export type IssuerMachine = {
  id: string;
  name: string;
  /** The account as which the program acts. */
  user_id: string;
  /** Display name, or else username; null without a person. */
  user_name?: string | null;
  claims: Record<string, string>;
  /** What the program may do; null: all that the account may. */
  scopes: string[] | null;
  created_at: string;
};
export type ItemRequirements = {
  /** Names that an installation binds to the installer's secrets. */
  secrets: string[];
  agents: RequiredAgent[];
};
export type ItemVersionSummary = {
  version: string;
  digest: string;
  status: 'submitted' | 'approved' | 'rejected';
  /** Reason given in the last moderation. */
  reason: string | null;
  submitted_at: string;
  reviewed_at: string | null;
};
export type Job = {
  id: string;
  agent_id: string;
  version: string;
  run_id: string;
  task: string;
  queue: string;
  status: 'waiting' | 'leased' | 'completed' | 'failed' | 'timed_out' | 'cancelled';
  attempt: number;
  max_attempts: number;
  worker: string | null;
  progress: string | null;
  last_error: string | null;
  created_at: string;
  leased_at: string | null;
  lease_expires_at: string | null;
  expires_at: string;
  finished_at: string | null;
};
export type JobAnswer = {
  id: string;
  status: 'waiting' | 'completed' | 'failed';
};
export type JobLease = {
  /** Nobody waits for the job any more: stop. */
  cancelled: boolean;
  lease_expires_at: string;
  /** From this answer on, for workers whose clock may be wrong. 0: the lease is over. */
  lease_seconds: number;
};
export type JobQueue = {
  /** Jobs that no worker has, 1000 at most. */
  waiting: number;
  /** Jobs that workers hold, 1000 at most. */
  leased: number;
  oldest_waiting_at: string | null;
  /** Those seen in the last minutes, 50 at most, latest first. */
  workers: SeenWorker[];
};
export type JobUsage = {
  input_tokens?: number;
  output_tokens?: number;
  /** Of this job. Default: its tokens at the price of the model. */
  cost_usd?: number;
  model?: string;
};
export type Jwks = {
  keys: {
    kty: string;
    crv: string;
    x: string;
    y: string;
    kid: string;
    alg: string;
    use: string;
  }[];
};
export type LinkMyIdentityRequest = {
  /** Its short name. */
  issuer: string;
};
export type LinkUserIdentityRequest = {
  issuer_id: string;
  subject: string;
};
export type ListedAgent = AgentFields & {
  description?: string | null;
  documentation?: string | null;
  configuration?: Record<string, unknown> | null;
  input_schema?: Record<string, unknown> | null;
  output_schema?: Record<string, unknown> | null;
  modalities?: string[] | null;
  capabilities?: string[] | null;
  authentication_config?: Record<string, unknown> | null;
  tags?: string[] | null;
  /** Newest first. Get a single version for its content. */
  versions: AgentVersionSummary[];
  skills?: AgentSkill[];
  /**
   * Parts of `configuration` that have no effect, or that will fail when the agent is invoked,
   * and a name that another agent of the same owner has.
   */
  warnings?: {
    pointer: string;
    message: string;
  }[];
  omitted: OmittedFields;
};
export type ListedAgentSkill = AgentSkillFields & {
  description?: string | null;
  tags?: string[] | null;
  examples?: string[] | null;
  input_modes?: string[] | null;
  output_modes?: string[] | null;
  omitted: OmittedFields;
};
export type ListedAgentVersion = AgentVersionFields & {
  configuration?: Record<string, unknown>;
  changelog?: string | null;
  input_schema?: Record<string, unknown>;
  output_schema?: Record<string, unknown>;
  omitted: OmittedFields;
};
export type ListedHumanTask = HumanTaskFields & {
  description?: string | null;
  /** The data to decide on. */
  subject?: unknown;
  /**
   * What led here: the steps and values that the definition shows to the people who are asked,
   * as they were when the task was created. Lists omit it.
   */
  context?: HumanTaskContextEntry[] | null;
  /** JSON Schema 2020-12 of the payload of every decision but `reject`. */
  form_schema?: Record<string, unknown> | null;
  decisions?: {
    id: string;
    label: string;
    requires_comment: boolean;
  }[];
  candidates?: {
    users: string[];
    roles: string[];
    groups: string[];
    teams?: string[];
  };
  /** With a quorum: votes for each decision. */
  tally?: Record<string, number> | null;
  /** The latest 100, oldest first. */
  comments?: HumanTaskComment[];
  decision?: HumanDecision | null;
  omitted: OmittedFields;
};
export type ListedMarketplaceItem = MarketplaceItemFields & {
  summary?: string | null;
  description?: string | null;
  categories?: string[];
  tags?: string[];
  requires?: ItemRequirements;
  omitted: OmittedFields;
};
export type ListedReceivedEvent = ReceivedEventFields & {
  event?: CloudEventOutput;
  omitted: OmittedFields;
};
export type ListedWorkflow = WorkflowFields & {
  description?: string | null;
  /** Open Workflow Specification DSL 1.0.x. */
  definition?: Record<string, unknown>;
  /**
   * Whether the definition is valid, nothing in it is unsupported, and every agent has a
   * matching version.
   */
  runnable?: boolean;
  problems?: DefinitionProblem[];
  input_schema?: (Record<string, unknown> | boolean) | null;
  tags?: string[];
  omitted: OmittedFields;
};
export type ListedWorkflowRevision = WorkflowRevisionFields & {
  definition?: Record<string, unknown>;
  /**
   * Whether the definition is valid, nothing in it is unsupported, and every agent has a
   * matching version.
   */
  runnable?: boolean;
  problems?: DefinitionProblem[];
  input_schema?: (Record<string, unknown> | boolean) | null;
  omitted: OmittedFields;
};
export type LogEntry = {
  /** Sequence number, from 1 without gaps. */
  seq: number;
  at: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  type: string;
  task: string | null;
  message: string;
  data: Record<string, unknown>;
};
export type LogInChoice = {
  name: string;
  title: string;
};
export type LogInChoices = {
  issuers: LogInChoice[];
  /** Whether who has forgotten a password may ask for a link by mail. */
  password_links: boolean;
};
export type LoggedOut = {
  log_out_url: string;
};
export type MarkNotificationsReadRequest = {
  ids?: string[];
  up_to?: string;
};
export type MarketplaceInstall = {
  id: string;
  item_id: string;
  kind: 'agent' | 'workflow';
  /** The copy: the caller's own agent or workflow. */
  ref_id: string;
  name: string;
  version: string;
  digest: string;
  installed_at: string;
  missing: MissingParts;
  /** Agents installed with the workflow. */
  agents: {
    id: string;
    item_id: string;
    kind: 'agent' | 'workflow';
    /** The copy: the caller's own agent or workflow. */
    ref_id: string;
    name: string;
    version: string;
    digest: string;
    installed_at: string;
    missing: MissingParts;
  }[];
};
export type MarketplaceInstallPlan = {
  item_id: string;
  version: string;
  digest: string;
  /** The caller's copy of this content, which a repeated installation returns. */
  copy: {
    ref_id: string;
    name: string;
  } | null;
  secrets: {
    /** As `secrets` of the installation names it. */
    name: string;
    /** The agent that needs it and comes with the workflow; null for the item itself. */
    agent: string | null;
  }[];
  agents: {
    /** As written in the definition. */
    agent: string;
    agent_id: string;
    version: string | null;
    /**
     * An agent that the caller may use already, one that is installed with the workflow, or
     * none.
     */
    use: 'existing' | 'install' | 'missing';
    /** The agent that is used (`existing`), or the item that is installed (`install`). */
    uses_id: string | null;
  }[];
};
export type MarketplaceItem = MarketplaceItemFields & {
  summary: string | null;
  description: string | null;
  categories: string[];
  tags: string[];
  requires: ItemRequirements;
};
export type MarketplaceItemFields = {
  id: string;
  kind: 'agent' | 'workflow';
  /** The published agent or workflow. It may have been deleted or be private. */
  ref_id: string;
  name: string;
  license: string | null;
  publisher: UserReference;
  /**
   * The highest approved version, else the latest submitted one. For a workflow, its revision
   * number.
   */
  version: string;
  /** Newest first. Only the publisher and admins see versions that are not approved. */
  versions: ItemVersionSummary[];
  /** Hexadecimal SHA-256 of the version's content as canonical JSON (RFC 8785). */
  digest: string;
  rating: {
    average: number | null;
    count: number;
  };
  installs: number;
  status: 'submitted' | 'approved' | 'rejected' | 'withdrawn';
  /** What the caller may do with the item. `review` means rating it. */
  can: ('install' | 'review' | 'approve' | 'reject' | 'withdraw')[];
  created_at: string;
  /** Time of the first approval. */
  published_at: string | null;
  updated_at: string;
};
export type MarketplaceReview = {
  id: string;
  item_id: string;
  user: UserReference;
  /** The version that the reviewer had installed. */
  version: string;
  rating: number;
  text: string | null;
  created_at: string;
  updated_at: string;
};
export type MarketplaceSubmission = MarketplaceItemFields & {
  summary: string | null;
  description: string | null;
  categories: string[];
  tags: string[];
  requires: ItemRequirements;
  /**
   * With `include_agents`: the items of the agents that the workflow uses, submitted now or
   * earlier.
   */
  included?: {
    agent: string;
    item_id: string;
    version: string;
    status: 'submitted' | 'approved' | 'rejected';
  }[];
};
export type MarketplaceVersion = {
  version: string;
  digest: string;
  status: 'submitted' | 'approved' | 'rejected';
  /** Reason given in the last moderation. */
  reason: string | null;
  submitted_at: string;
  reviewed_at: string | null;
  item_id: string;
  name: string;
  summary: string | null;
  description: string | null;
  license: string | null;
  categories: string[];
  tags: string[];
  requires: ItemRequirements;
  /** The content that an installation copies. */
  content: Record<string, unknown>;
};
export type MissingParts = {
  secrets: string[];
  agents: RequiredAgent[];
  workflows: string[];
};
export type NewAccessToken = AccessTokenFields & {
  /** Shown only once; it cannot be read again. */
  token: string;
};
export type NewClient = ClientFields & {
  /** Shown only once; it cannot be read again. */
  client_secret: string;
};
export type NewEvaluationJudge = {
  /** Id or name. */
  agent: string;
  version?: string;
  criteria?: string;
  /** jq on its answer that gives a boolean, or a number from 0 to 1. */
  pass?: string;
};
export type NewScimToken = ScimTokenFields & {
  /** Shown only once; it cannot be read again. */
  token: string;
};
export type NewTotp = {
  /** In base 32, for typing it. It counts once a code was confirmed. */
  secret: string;
  /** `otpauth://…`, for a QR code. */
  uri: string;
};
export type NewWebhook = WebhookFields & {
  /** Shown only once. */
  secret: string;
};
export type NewWorkerToken = {
  id: string;
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  name: string;
  /** The agents that it serves. */
  agent_ids: string[];
  created_at: string;
  expires_at: string;
  /** To the minute. */
  last_used: string | null;
  /**
   * It serves no jobs until its owner has a second factor, which a role needs
   * (`SECOND_FACTOR_ROLES`).
   */
  awaits_second_factor: boolean;
  /** Shown only here. */
  token: string;
};
export type NoFields = Record<string, never>;
export type Notification = {
  id: string;
  kind: 'assigned' | 'candidate' | 'reminder' | 'escalation' | 'expiring' | 'mentioned';
  task: {
    id: string;
    title: string;
    workflow_name: string;
    status: 'open' | 'claimed' | 'decided' | 'expired' | 'cancelled';
  };
  /** Who commented or delegated. */
  actor: {
    id: string;
    display_name: string;
  } | null;
  /** The absent person whose deputy you are. */
  in_place_of: {
    id: string;
    display_name: string;
  } | null;
  /** The beginning of the comment that mentions you. */
  comment: string | null;
  created_at: string;
  read_at: string | null;
};
export type NotificationChannel = {
  id: string;
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  name: string;
  format: 'slack' | 'teams' | 'mattermost';
  /** Tasks for this group; only admins set it. */
  group: string | null;
  /** Tasks of this workflow. */
  workflow_id: string | null;
  /** Tasks that name this team, and those of its workflows; only its admins set it. */
  team_id: string | null;
  kinds: ('assigned' | 'candidate' | 'reminder' | 'escalation' | 'expiring' | 'mentioned')[];
  active: boolean;
  /**
   * Why it is told nothing although it is active: its owner is disabled, or may not have such
   * a chat any more. An admin can give it another owner.
   */
  silent: ('owner_disabled' | 'owner_not_allowed') | null;
  last_error: string | null;
  created_at: string;
  updated_at: string;
};
export type NotificationSettings = {
  /** By kind; what is not listed is sent. */
  mail?: Partial<
    Record<
      | 'assigned'
      | 'candidate'
      | 'reminder'
      | 'escalation'
      | 'expiring'
      | 'mentioned'
      | 'credential_made'
      | 'credential_ends'
      | 'roles_changed',
      boolean
    >
  >;
  /** By kind; what is not listed is sent. */
  chat?: Partial<
    Record<'assigned' | 'candidate' | 'reminder' | 'escalation' | 'expiring' | 'mentioned', boolean>
  >;
  /** Whether mails are collected into one an hour or a day. Default: `off`. */
  digest?: 'off' | 'hourly' | 'daily';
  /** Of the daily digest. Default: `08:00`. */
  digest_at?: string;
  /** Nothing is sent in between; it is sent afterwards. */
  quiet_hours?: {
    /** Time of day, such as `22:00`. */
    from: string;
    /** Time of day, such as `22:00`. */
    to: string;
  } | null;
  /** Default: NOTIFY_TIME_ZONE of the platform. */
  time_zone?: string | null;
  /** Whether this platform sends mails. */
  mail_available: boolean;
  default_time_zone: string;
};
export type OAuthError = {
  error: string;
  error_description: string;
};
export type OmittedFields = string[];
export type OpenIdProviderMetadata = {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  userinfo_endpoint: string;
  jwks_uri: string;
  registration_endpoint?: string;
  revocation_endpoint: string;
  scopes_supported: string[];
  response_types_supported: string[];
  response_modes_supported: string[];
  grant_types_supported: string[];
  subject_types_supported: string[];
  id_token_signing_alg_values_supported: string[];
  token_endpoint_auth_methods_supported: string[];
  revocation_endpoint_auth_methods_supported: string[];
  code_challenge_methods_supported: string[];
  claims_supported: string[];
  claim_types_supported: string[];
  prompt_values_supported: string[];
  claims_parameter_supported: boolean;
  request_parameter_supported: boolean;
  request_uri_parameter_supported: boolean;
  authorization_response_iss_parameter_supported: boolean;
};
export type Passkey = {
  id: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
};
export type PasskeyAnswer = {
  id: string;
  rawId: string;
  type: 'public-key';
  response: {
    clientDataJSON: string;
    [name: string]: unknown;
  };
  [name: string]: unknown;
};
export type PasskeyChallenge = {
  /** To be sent with the answer, within 5 minutes. */
  challenge: string;
  /** For `navigator.credentials`, in the JSON form of WebAuthn. */
  options: Record<string, unknown>;
};
export type PasswordLink = {
  username: string;
  purpose: 'invitation' | 'password';
  expires_at: string;
};
export type Person = {
  id: string;
  username: string;
  display_name: string | null;
  /** A picture that is drawn from the name. */
  avatar: {
    initials: string;
    hue: number;
  };
  /** Only with DIRECTORY_EMAIL. */
  email?: string;
};
export type PinnedResource = {
  kind: 'function' | 'schema';
  /** Where the definition names it first. */
  pointer: string;
  url: string;
  /** `sha256:` and the digest of the content. */
  digest: string;
  bytes: number;
};
export type PlanWarning = {
  /** Leads into the resource. */
  pointer: string;
  code: string;
  message: string;
};
export type PollJobsRequest = {
  /** The most jobs to take. */
  max?: number;
  wait_seconds?: number;
  /** Only jobs of this queue. Default: of all. */
  queue?: string;
  /** Name of the worker, for people. Default: the name of its token or user. */
  worker?: string;
};
export type PolledJob = {
  id: string;
  agent_id: string;
  version: string;
  input: unknown;
  /** The same in each attempt of the job. */
  idempotency_key: string;
  /** W3C Trace Context: send it on, and what the worker does belongs to the trace of the run. */
  traceparent?: string;
  /** W3C Trace Context: send it with `traceparent`. */
  tracestate?: string;
  attempt: number;
  lease_expires_at: string;
  /** From this answer on, for workers whose clock may be wrong. 0: the lease is over. */
  lease_seconds: number;
  /** `settings` of the agent's configuration, with its secrets. */
  settings?: Record<string, unknown>;
};
export type Preferences = Record<string, unknown>;
export type Price = {
  id: string;
  /** Null: of every provider. */
  provider: string | null;
  model: string;
  input_per_million_usd: number;
  output_per_million_usd: number;
  /** Of input that the provider had kept. Null: as other input. */
  cached_input_per_million_usd: number | null;
  valid_from: string;
  valid_to: string | null;
  created_at: string;
  updated_at: string;
};
export type Problem = {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  /** Stable identifier of the error, for use by clients. */
  code: string;
  request_id: string;
  errors?: {
    pointer: string;
    code: string;
    message: string;
    /** In a body of YAML, from 1; so is `column`. */
    line?: number;
    column?: number;
    [name: string]: unknown;
  }[];
  [name: string]: unknown;
};
export type ProtectedResourceMetadata = {
  resource: string;
  resource_name: string;
  authorization_servers: string[];
  scopes_supported: string[];
  bearer_methods_supported: string[];
};
export type Provenance = {
  item_id: string;
  version: string;
  digest: string;
  publisher: UserReference;
  installed_at: string;
};
export type PublishEventResponse = AcceptedEvent | AcceptedEvent[];
export type PutNotificationSettingsRequest = {
  /** By kind; what is not listed is sent. */
  mail?: Partial<
    Record<
      | 'assigned'
      | 'candidate'
      | 'reminder'
      | 'escalation'
      | 'expiring'
      | 'mentioned'
      | 'credential_made'
      | 'credential_ends'
      | 'roles_changed',
      boolean
    >
  >;
  /** By kind; what is not listed is sent. */
  chat?: Partial<
    Record<'assigned' | 'candidate' | 'reminder' | 'escalation' | 'expiring' | 'mentioned', boolean>
  >;
  /** Whether mails are collected into one an hour or a day. Default: `off`. */
  digest?: 'off' | 'hourly' | 'daily';
  /** Of the daily digest. Default: `08:00`. */
  digest_at?: string;
  /** Nothing is sent in between; it is sent afterwards. */
  quiet_hours?: {
    /** Time of day, such as `22:00`. */
    from: string;
    /** Time of day, such as `22:00`. */
    to: string;
  } | null;
  /** Default: NOTIFY_TIME_ZONE of the platform. */
  time_zone?: string | null;
};
export type PutSecretRequest = {
  /** Text, or an object such as {username, password}. It is never returned. */
  value: string | Record<string, unknown>;
};
export type PutTeamGroupRequest = {
  role: 'viewer' | 'approver' | 'builder' | 'admin';
};
export type PutTeamMemberRequest = {
  role: 'viewer' | 'approver' | 'builder' | 'admin';
};
export type QuotaState = {
  name:
    | 'live_runs'
    | 'runs_per_minute'
    | 'descendants'
    | 'run_events'
    | 'stored_bytes'
    | 'files'
    | 'agent_versions'
    | 'workflow_revisions'
    | 'schedules'
    | 'secrets'
    | 'webhooks'
    | 'inbound_webhooks'
    | 'event_sources'
    | 'chats'
    | 'tokens'
    | 'clients'
    | 'streams';
  scope: 'user' | 'team' | 'platform';
  /**
   * What the limit is for each of; `used` is that of that which uses most. Null: for all
   * together.
   */
  per: ('run' | 'agent' | 'workflow') | null;
  /** Null: no limit. */
  limit: number | null;
  used: number;
  /** The setting that it comes from. */
  setting: string;
  /** Administrators have replaced the setting. */
  own: boolean;
};
export type QuotaStates = {
  scope: 'user' | 'team' | 'platform';
  /** Of the user or team. */
  id: string | null;
  name: string | null;
  limits: QuotaState[];
};
export type RaiseBudgetRequest = {
  cost_usd?: number;
  tokens?: number;
  invocations?: number;
  /** For good, not only for this window. */
  lasting?: boolean;
};
export type ReadPasswordLinkRequest = {
  token: string;
};
export type Readiness = {
  status: 'ok' | 'degraded' | 'down';
  checks: {
    database: 'ok' | 'down' | 'database_missing' | 'not_migrated';
    temporal: 'ok' | 'down' | 'wrong_namespace';
    files: 'ok' | 'down' | 'wrong_store';
    server: 'ok' | 'down' | 'stopping';
    admin: 'ok' | 'missing' | 'unknown';
    runs: 'ok' | 'stuck' | 'unknown';
    keys: 'ok' | 'missing' | 'wrong' | 'unknown';
    containers?: 'ok' | 'down';
    certificates?: 'ok' | 'expiring' | 'replaced' | 'expired';
  };
  /** What is wrong and how an operator can fix it. */
  problems?: string[];
};
export type ReceivedEvent = ReceivedEventFields & {
  event: CloudEventOutput;
};
export type ReceivedEventFields = {
  id: string;
  /** A user or a team. */
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  team_id: string | null;
  source: string;
  event_id: string;
  type: string;
  subject: string | null;
  time: string | null;
  received_at: string;
  /** The machine client that sent it. */
  client_id: string | null;
  /** The inbound webhook by which it came. */
  hook_id: string | null;
  /** The run that emitted it. */
  run_id: string | null;
};
export type RecoveryCodes = {
  /** Shown only once; null if the former ones are still good. */
  recovery_codes: string[] | null;
};
export type RedeliverFailedWebhookDeliveriesRequest = {
  since?: Instant;
};
export type RedeliverFailedWebhookDeliveriesResponse = {
  redelivered: number;
};
export type RefreshAgentRequest = {
  apply?: boolean;
  /** Of the new draft. Default: the next minor version. */
  version?: SemanticVersion;
};
export type RegisteredClient = {
  id: string;
  /** Its id, or the name that the settings give it. */
  client_id: string;
  name: string;
  /** The settings describe it; it cannot be removed here. */
  from_settings: boolean;
  /** Only users with this role may log in to it; null: everybody. */
  required_role: ('viewer' | 'approver' | 'builder' | 'admin') | null;
  client_uri: string | null;
  redirect_uris: string[];
  token_endpoint_auth_method: 'none' | 'client_secret_basic' | 'client_secret_post';
  created_at: string;
  /** When a user last approved it. */
  approved_at: string | null;
};
export type RegisteredClientInformation = {
  client_id: string;
  client_id_issued_at: number;
  client_secret?: string;
  client_secret_expires_at?: number;
  client_name: string;
  client_uri?: string;
  redirect_uris: string[];
  token_endpoint_auth_method: 'none' | 'client_secret_basic' | 'client_secret_post';
  grant_types: string[];
  response_types: string[];
};
export type RejectMarketplaceItemRequest = {
  /** Default: the latest submitted version that awaits moderation. */
  version?: string;
  /** Of what was reviewed: 409 `content_changed` if the version has other content. */
  digest?: string | null;
  /**
   * When what was reviewed was submitted: 409 `content_changed` if it was submitted again
   * since, such as with another description.
   */
  submitted_at?: string | null;
  reason: string;
};
export type ReplacePriceRequest = {
  provider?: string | null;
  model: string;
  input_per_million_usd: number;
  output_per_million_usd: number;
  cached_input_per_million_usd?: number | null;
  /** Default: now. */
  valid_from?: Instant | null;
  /** Default: until a later price of the model begins. */
  valid_to?: Instant | null;
};
export type RequestPasswordLinkRequest = {
  /** The username or e-mail address. */
  name: string;
};
export type RequiredAgent = {
  /** As written in the definition. */
  agent: string;
  agent_id: string;
  version: string | null;
};
export type RetryEvaluationRequest = {
  /** Cases that ended so with any version. */
  only?: ('error' | 'failed')[];
  /** Calls of each version at the same time. */
  concurrency?: number;
};
export type RetryRunRequest = {
  /** A revision of the run's workflow. Default: that of the run. */
  revision?: number;
  /** Input of the task that the run continues with. Default: what it had. */
  input?: unknown;
  /** JSON pointer of the task to continue with. Default: the task that failed. */
  from?: string;
};
export type ReviewMarketplaceItemRequest = {
  rating: number;
  text?: string | null;
};
export type Revocation = {
  token: string;
  token_type_hint?: string;
};
export type RevocationForm = {
  token?: string;
  token_type_hint?: string;
  client_id?: string;
  client_secret?: string;
  [name: string]: unknown;
};
export type RoleRule = {
  claim: string;
  /** The claim is it, or a list that contains it. */
  value: string;
  roles: ('viewer' | 'approver' | 'builder' | 'admin')[];
};
export type Root = {
  name: 'Cadenza';
  /** Of the API, as in the OpenAPI document. */
  version: string;
  links: {
    openapi: string;
    docs: string;
    console: string | null;
    health: string;
    readiness: string;
  };
};
export type RotateWebhookSecretRequest = {
  /**
   * How long requests are signed with the former secret too, at most 7 days; 0: not at all.
   * Default: 24 hours.
   */
  former_secret_seconds?: number;
};
export type Run = RunFields & {
  input_params: unknown;
  output: unknown;
  error: DslError | null;
  /** The first 100 things that the run waits for. */
  waiting_on: {
    kind: 'human' | 'event' | 'timer';
    task: string;
    id?: string;
    until?: string;
    /** Types of the events that it listens for; `*` is any. */
    events?: string[];
  }[];
  /** The last 500 started tasks in start order. `/runs/{id}/tasks` has all of them. */
  tasks: RunTask[];
  /** The last 200 log entries. */
  logs: LogEntry[];
  /** URL of the log entries after these. */
  logs_next: string | null;
};
export type RunBatch = {
  results: {
    id: string;
    /** The status that a single request for this run would have returned. */
    status: number;
    /** As a list with `view=summary` has it; for `retry` the new run. */
    run?: RunSummary;
    problem?: Problem;
  }[];
};
export type RunFields = {
  id: string;
  workflow_id: string | null;
  workflow_revision: number | null;
  workflow_name: string;
  status: 'pending' | 'running' | 'waiting' | 'suspended' | 'cancelled' | 'faulted' | 'completed';
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  /** The team of its workflow. */
  team_id: string | null;
  /**
   * Its owner started it as one of the `runners` of the workflow, and sees its input, output
   * and state only.
   */
  by_grant: boolean;
  parent_run_id: string | null;
  retry_of: string | null;
  key: string | null;
  tags: string[];
  labels: Record<string, string>;
  /** The time of its workflow's schedule. */
  scheduled_at: string | null;
  /** The first 100 events that started it, as in `GET /events/received/{id}`. */
  started_by: string[] | null;
  /** Number of things that the run waits for. */
  waiting_count: number;
  usage: Record<string, unknown>;
  /** Of the budget that was given at the start, as in `GET /budgets/{id}`; null without one. */
  budget_id: string | null;
  temporal: {
    workflow_id: string;
    run_id: string | null;
    url: string | null;
  };
  /** Of the trace (OpenTelemetry) that it is in. */
  trace_id: string | null;
  /** Where to look at the trace, if the installation has a place for that. */
  trace_url: string | null;
  /** What the caller can currently do with the run. */
  can: ('cancel' | 'suspend' | 'resume' | 'retry' | 'retry_with_changes' | 'run_again' | 'terminate')[];
  /** Number of entries in its log. */
  last_seq: number;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
};
export type RunStats = {
  by: 'hour' | 'day';
  /** Beginning of the first hour or day. */
  from: string;
  /** End of the last one. */
  to: string;
  series: RunStatsSeries[];
};
export type RunStatsBucket = {
  /** Beginning of the hour or day, in UTC. */
  at: string;
  /** Runs that were created in it. */
  started: number;
  /** Runs that ended in it, by their final status. */
  completed: number;
  faulted: number;
  cancelled: number;
  /** How long the completed runs took together, from start to end, with all waiting. */
  total_ms: number;
  /** How long the slowest of them took. */
  slowest_ms: number | null;
};
export type RunStatsSeries = {
  /** Null: all runs. */
  workflow_id: string | null;
  /** The latest run of the workflow, at any time; null for all runs. */
  last_run: {
    id: string;
    status: 'pending' | 'running' | 'waiting' | 'suspended' | 'cancelled' | 'faulted' | 'completed';
    created_at: string;
  } | null;
  /** Oldest first; those in which nothing happened are left out. */
  buckets: RunStatsBucket[];
};
export type RunSummary = RunFields & {
  input_params?: unknown;
  output?: unknown;
  error?: DslError | null;
  /** The first 100 things that the run waits for. */
  waiting_on?: {
    kind: 'human' | 'event' | 'timer';
    task: string;
    id?: string;
    until?: string;
    /** Types of the events that it listens for; `*` is any. */
    events?: string[];
  }[];
  omitted: OmittedFields;
};
export type RunTask = {
  /** JSON pointer into the definition. */
  reference: string;
  name: string;
  type: string;
  status: 'running' | 'waiting' | 'suspended' | 'cancelled' | 'faulted' | 'completed';
  /** How often the run has entered the task, including this time. */
  visit: number;
  /** Attempt of the nearest `try`, from 1. */
  attempt: number;
  started_at: string;
  finished_at: string | null;
  agent_id?: string;
  agent_version?: string;
  hitl_task_id?: string;
  child_run_id?: string;
  usage?: Record<string, unknown>;
  error?: DslError;
  /** Indexes of the items of `call: map` that the task belongs to, outermost first. */
  items?: number[];
};
export type RunTaskGroup = {
  /** JSON pointer into the definition. */
  reference: string;
  name: string;
  type: string;
  /** Number of visits. */
  count: number;
  completed: number;
  faulted: number;
  cancelled: number;
  /** Visits that run, wait or are suspended. */
  unfinished: number;
  last_visit: number;
  /** The finished visit that took longest. */
  slowest: {
    visit: number;
    duration_ms: number;
  } | null;
  /** Sum of the durations of the finished visits. */
  total_ms: number;
  /** When the first visit started. */
  started_at: string;
  /** When the last finished visit ended. */
  finished_at: string | null;
};
export type RunTaskVisit = {
  /** JSON pointer into the definition. */
  reference: string;
  name: string;
  type: string;
  status: 'running' | 'waiting' | 'suspended' | 'cancelled' | 'faulted' | 'completed';
  /** How often the run has entered the task, including this time. */
  visit: number;
  /** Attempt of the nearest `try`, from 1. */
  attempt: number;
  started_at: string;
  finished_at: string | null;
  agent_id?: string;
  agent_version?: string;
  hitl_task_id?: string;
  child_run_id?: string;
  usage?: Record<string, unknown>;
  error?: DslError;
  /** Indexes of the items of `call: map` that the task belongs to, outermost first. */
  items?: number[];
  /** Input of the task, after `input.from`. */
  input?: unknown;
  /** Output of the task, once it has completed. */
  output?: unknown;
  /** Which of them the log leaves out, because their JSON is larger than 8 KiB. */
  omitted: ('input' | 'output')[];
};
export type RunWorkflowRequest = {
  input_params?: Record<string, unknown>;
  /** Unique for workflow and owner while the run lives. */
  key?: string;
  tags?: string[];
  labels?: Record<string, string>;
  /** Of the run with all runs that it starts. */
  budget?: Budget;
};
export type Runners = {
  users?: string[];
  groups?: string[];
  everyone?: boolean;
};
export type Schedule = {
  workflow_id: string;
  kind: 'every' | 'cron' | 'after' | 'on';
  /** With its time zone; UTC if it names none. */
  cron: string | null;
  every_seconds: number | null;
  /** After the end of the last run. */
  after_seconds: number | null;
  /** Types of the events that start runs; `*` is any. */
  events: string[] | null;
  state: 'active' | 'paused' | 'blocked';
  /** Why it is blocked. */
  reason: string | null;
  paused_at: string | null;
  paused_by: string | null;
  /** Display name, or else username; null without a person. */
  paused_by_name?: string | null;
  note: string | null;
  /**
   * At a time at which an earlier run of the schedule has not ended: `skip` it, start it once
   * that run has ended (`buffer_one`), or `allow` both.
   */
  overlap: 'skip' | 'buffer_one' | 'allow';
  /** How late a run may still start, such as after an outage. */
  catch_up_seconds: number;
  /** Each start is delayed by a random time of at most this. */
  jitter_seconds: number;
  /** Of each run that it starts. */
  budget: Budget | null;
  /**
   * At most ten times; null if they are not known at the moment. Those of `after` are for the
   * owner and admins.
   */
  next: string[] | null;
  /** The last ten times, newest first. Only the owner and admins see them. */
  last: ScheduledStart[];
  can: ('update' | 'trigger' | 'backfill')[];
};
export type ScheduledStart = {
  scheduled_at: string;
  cause: 'time' | 'trigger' | 'backfill' | 'event';
  outcome: 'started' | 'skipped' | 'missed' | 'failed';
  run_id: string | null;
  /** Why there is no run. */
  detail: string | null;
  /** When this was decided. */
  at: string;
};
export type ScimToken = ScimTokenFields;
export type ScimTokenFields = {
  id: string;
  name: string;
  created_at: string;
  expires_at: string;
  last_used_at: string | null;
};
export type SecondFactorNeeded = {
  error: 'mfa_required';
  error_description: string;
  challenge: string;
  methods: string[];
};
export type SecondFactorRule = {
  claim?: string;
  value?: string;
};
export type SecondFactorRuleRecord = {
  claim: string;
  value: string;
};
export type SecondFactors = {
  /** An authenticator app is set up. */
  totp: boolean;
  passkeys: Passkey[];
  recovery_codes_left: number;
  /** One of your roles needs a second factor. */
  required: boolean;
  /** Until you show one (`verifyMe`) or set up the first, this session has a viewer's rights. */
  awaited: boolean;
};
export type Secret = {
  name: string;
  created_at: string;
  updated_at: string;
};
export type SeenWorker = {
  worker: string;
  /** Null: a person. */
  token_id: string | null;
  seen_at: string;
  leased: number;
};
export type SemanticVersion = string;
export type Session = {
  id: string;
  /** `token`: a log-in by `POST /auth/token`. `client`: an OAuth client that you approved. */
  kind: 'browser' | 'token' | 'client';
  /** The name that the OAuth client gave itself. */
  client_name: string | null;
  /** The highest role that the client may use. */
  role_limit: ('viewer' | 'approver' | 'builder' | 'admin') | null;
  /** Whether this request belongs to it. */
  current: boolean;
  /** Such as `Firefox on Linux`. */
  device: string | null;
  /** The address that logged in. */
  address: string | null;
  created_at: string;
  /** To the minute; for a token, its last refresh. */
  last_used_at: string;
  expires_at: string;
  /** It has a viewer's rights until a second factor is shown in it (`SECOND_FACTOR_ROLES`). */
  awaits_second_factor: boolean;
};
export type SetAgentCanaryRequest = {
  version: string;
  percent: number;
};
export type SetEventSendersRequest = {
  /** Ids of users. */
  users: string[];
};
export type StartableWorkflow = {
  id: string;
  name: string;
  /** Lists leave out a schema of more than 16 KiB. */
  input_schema: (Record<string, unknown> | boolean) | null;
};
export type StreamRunEventsResponse = {
  id?: string;
  event?: string;
  /** JSON. */
  data: string;
};
export type SubmitMarketplaceItemRequest = {
  kind: 'agent' | 'workflow';
  ref_id: string;
  /** A published version of the agent, or the number of a valid revision of the workflow. */
  version: string | number;
  name?: string;
  summary?: string | null;
  description?: string | null;
  categories?: string[] | null;
  tags?: string[] | null;
  license?: string | null;
  /** For a workflow: also submit the own private agents that it uses. */
  include_agents?: boolean | null;
};
export type Team = {
  id: string;
  name: string;
  description: string | null;
  /** Of the caller; null for administrators who are no members. */
  role: ('viewer' | 'approver' | 'builder' | 'admin') | null;
  /** Counted to 10000. */
  members: number;
  /** What replaces the settings for this team; administrators set it. */
  quotas: TeamQuotas | null;
  can: 'manage'[];
  created_by: string;
  /** Display name, or else username; null without a person. */
  created_by_name?: string | null;
  created_at: string;
  updated_at: string;
};
export type TeamGroup = {
  team_id: string;
  group: string;
  role: 'viewer' | 'approver' | 'builder' | 'admin';
  added_by: string;
  /** Display name, or else username; null without a person. */
  added_by_name?: string | null;
  added_at: string;
  /** Some of its people are still to get the role: of more than 1000, the later ones. */
  pending: boolean;
};
export type TeamMember = {
  team_id: string;
  user_id: string;
  username: string;
  display_name: string | null;
  /** The highest of their own and those of their groups. */
  role: 'viewer' | 'approver' | 'builder' | 'admin';
  /** Without groups; null: only groups give one. */
  own_role: ('viewer' | 'approver' | 'builder' | 'admin') | null;
  /** Groups of theirs that give a role in the team. */
  groups: {
    group: string;
    role: 'viewer' | 'approver' | 'builder' | 'admin';
  }[];
  added_by: string;
  /** Display name, or else username; null without a person. */
  added_by_name?: string | null;
  added_at: string;
};
export type TeamQuotas = {
  live_runs?: number | null;
  runs_per_minute?: number | null;
  descendants?: number | null;
  run_events?: number | null;
  stored_bytes?: number | null;
  files?: number | null;
  agent_versions?: number | null;
  workflow_revisions?: number | null;
  schedules?: number | null;
  secrets?: number | null;
  webhooks?: number | null;
  inbound_webhooks?: number | null;
  event_sources?: number | null;
};
export type TemporalPayload = {
  metadata?: Record<string, string>;
  data?: string;
  [name: string]: unknown;
};
export type TemporalPayloads = {
  payloads: TemporalPayload[];
};
export type TerminateRunRequest = {
  reason?: string;
};
export type TestMail = {
  sent: boolean;
  to: string;
  error: string | null;
};
export type TestMessage = {
  sent: boolean;
  error: string | null;
};
export type Texts = string[] | null;
export type TokenAnswer = {
  access_token: string;
  token_type: 'Bearer';
  /** Lifetime in seconds. */
  expires_in: number;
  refresh_token?: string;
  /** The roles, separated by spaces. */
  scope: string;
  /** Who the user is (OpenID Connect), with `openid`. */
  id_token?: string;
};
export type TokenForm = {
  grant_type?: string;
  username?: string;
  password?: string;
  refresh_token?: string;
  client_id?: string;
  client_secret?: string;
  device_code?: string;
  code?: string;
  code_verifier?: string;
  challenge?: string;
  recovery_code?: string;
  redirect_uri?: string;
  resource?: string;
  [name: string]: unknown;
};
export type TokenRequest =
  | {
      grant_type?: 'password';
      /** The username or email address. */
      username: string;
      password: string;
    }
  | {
      grant_type: 'second_factor';
      challenge: string;
      /** Of the authenticator app: six digits. */
      code?: string;
      recovery_code?: string;
      passkey?: PasskeyAnswer;
    }
  | {
      grant_type: 'refresh_token';
      refresh_token: string;
    }
  | {
      grant_type: 'client_credentials';
      client_id: string;
      client_secret: string;
    };
export type Transfer = {
  /** While it is `running`, the numbers grow. */
  status: 'running' | 'done';
  to: string;
  agents: number;
  workflows: number;
  runs: number;
  files: number;
  webhooks: number;
  items: number;
  human_tasks: number;
  conversations: number;
  chats: number;
  secrets: number;
  secrets_renamed: Record<string, string>;
};
export type TransferUserRequest = {
  to: string;
};
export type UnreadNotifications = {
  /** 100: or more. */
  unread: number;
};
export type UnsubscribeForm = Record<string, unknown>;
export type UpdateAgentRequest = {
  name?: string;
  type?: 'docker' | 'api' | 'a2a' | 'llm' | 'vision' | 'audio' | 'sensor' | 'workflow';
  version?: SemanticVersion;
  visibility?: 'private' | 'public';
  description?: string | null;
  execution_type?: ('docker' | 'api' | 'a2a' | 'framework' | 'edge') | null;
  status?: ('active' | 'inactive' | 'deprecated') | null;
  documentation?: string | null;
  license?: string | null;
  repository_url?: string | null;
  configuration?: Record<string, unknown> | null;
  /** JSON Schema 2020-12. */
  input_schema?: Record<string, unknown> | null;
  /** JSON Schema 2020-12. */
  output_schema?: Record<string, unknown> | null;
  modalities?: Words;
  capabilities?: Words;
  url?: string | null;
  provider_name?: string | null;
  provider_url?: string | null;
  authentication_type?: ('none' | 'api_key' | 'oauth' | 'jwt') | null;
  authentication_config?: Record<string, unknown> | null;
  capabilities_streaming?: boolean | null;
  capabilities_push?: boolean | null;
  capabilities_history?: boolean | null;
  tags?: Words;
  limits?: AgentLimitsPatch | null;
  budget?: BudgetPatch | null;
  team_id?: string | null;
  /** Gives it to this person, with the secrets that it reads; for administrators. */
  owner_id?: string;
};
export type UpdateAgentSkillRequest = {
  name?: string;
  description?: string | null;
  tags?: Texts;
  examples?: Texts;
  input_modes?: Texts;
  output_modes?: Texts;
};
export type UpdateAgentVersionRequest = {
  configuration?: Record<string, unknown> | null;
  input_schema?: Record<string, unknown> | null;
  output_schema?: Record<string, unknown> | null;
  changelog?: string | null;
};
export type UpdateEventSourceRequest = {
  /** `source` of the events, as it is sent. */
  source?: string;
  /** Only this machine client of yours may send it. */
  client_id?: string | null;
  /** Only this user may send it; another user only what they share with you. */
  user_id?: string | null;
  /** Users whose workflows may get your events of it. */
  shared_with?: string[];
  description?: string | null;
  /** Gives it to a team, or with null to the caller. */
  team_id?: string | null;
  /** Gives it to this person, with the secrets that it reads; for administrators. */
  owner_id?: string;
};
export type UpdateFileRequest = {
  name?: string;
  visibility?: 'private' | 'public';
  team_id?: string | null;
  /** Gives it to this person, with the secrets that it reads; for administrators. */
  owner_id?: string;
};
export type UpdateHookRequest = {
  name?: string;
  /** How the sender signs its calls. */
  scheme?: 'github' | 'stripe' | 'slack' | 'standard';
  /** Name of a secret of the owner or the team; its value signs the calls. */
  secret?: string;
  /** Calls that are signed with it are taken too, during a rotation. */
  former_secret?: string | null;
  /** Of the events. Default: the webhook's own address. */
  source?: string | null;
  /** Of the events. Default: from the call, such as `com.github.pull_request.opened`. */
  event_type?: string | null;
  /** How old, or ahead, the time of a signature may be. GitHub signs none. */
  tolerance_seconds?: number;
  active?: boolean;
  /** Gives it to a team, or with null to the caller, with the secrets that it names. */
  team_id?: string | null;
  /** Gives it to this person, with the secrets that it reads; for administrators. */
  owner_id?: string;
};
export type UpdateIssuerRequest = {
  /** Short name: in addresses, and before the names of its groups (`corp:finance`). It stays. */
  name?: string;
  /** What the log-in screen shows. */
  title?: string;
  /** Address of the issuer exactly as its tokens have it in `iss`. */
  issuer?: string;
  client_id?: string;
  /** Of a confidential client. It is stored encrypted and never shown. */
  client_secret?: string | null;
  /** Default: what the configuration names. */
  jwks_uri?: string | null;
  /** Default: `openid`, `profile` and `email`. */
  scopes?: string[];
  mapping?: ClaimMappingPatch;
  /** Default true: the first log-in makes the account. Otherwise only linked users log in. */
  creates_users?: boolean;
  /** The claim that has the `externalId` of users whom the issuer provisions by SCIM. */
  external_id_claim?: string | null;
  /** `aud` of access tokens of programs. Default: none, so such tokens are not accepted. */
  audiences?: string[];
  /** `typ` of such tokens (RFC 9068: `at+jwt`, the default); `none`: without one. */
  token_types?: ('at+jwt' | 'jwt' | 'none')[];
  /** Default true. Without it its sessions end. */
  enabled?: boolean;
};
export type UpdateNotificationChannelRequest = {
  name?: string;
  /** What the chat is told. Default: everything. */
  kinds?: ('assigned' | 'candidate' | 'reminder' | 'escalation' | 'expiring' | 'mentioned')[];
  /** The address that the chat gave; it is never shown again. */
  url?: string;
  active?: boolean;
  /** Moves it to another person; for admins. */
  owner_id?: string;
};
export type UpdateScheduleRequest = {
  paused?: boolean;
  note?: string | null;
  /**
   * At a time at which an earlier run of the schedule has not ended: `skip` it, start it once
   * that run has ended (`buffer_one`), or `allow` both.
   */
  overlap?: 'skip' | 'buffer_one' | 'allow';
  /** How late a run may still start, such as after an outage. */
  catch_up_seconds?: number;
  /** Each start is delayed by a random time of at most this. */
  jitter_seconds?: number;
  /** Of each run that it starts; null takes it away. */
  budget?: BudgetPatch | null;
};
export type UpdateTeamRequest = {
  name?: string;
  description?: string | null;
  quotas?: TeamQuotas | null;
};
export type UpdateUserRequest = {
  username?: string;
  email?: string;
  display_name?: string | null;
  roles?: ('viewer' | 'approver' | 'builder' | 'admin')[];
  groups?: string[];
  status?: 'active' | 'disabled';
  /** Null switches the log-in by password off. */
  password?: string | null;
  budget?: BudgetPatch | null;
  quotas?: UserQuotas | null;
};
export type UpdateWebhookRequest = {
  url?: string;
  /**
   * Event types, such as `io.cadenza.hitl` (and all types below it) or `*.faulted.v1`.
   * Default: all types.
   */
  types?: string[] | null;
  description?: string | null;
  /** `whsec_…` (Standard Webhooks); generated if omitted. */
  secret?: string;
  active?: boolean;
  /** Gives it to a team, or with null to the caller. */
  team_id?: string | null;
  /** Gives it to this person, with the secrets that it reads; for administrators. */
  owner_id?: string;
};
export type UpdateWorkflowRequest = {
  name?: string;
  /**
   * Open Workflow Specification DSL 1.0.x: an object, or its text as YAML or JSON, which is
   * kept as it is written, with its comments. A missing `document` is generated from `name`.
   */
  definition?: Record<string, unknown> | string;
  description?: string | null;
  visibility?: ('private' | 'public') | null;
  tags?: string[] | null;
  budget?: BudgetPatch | null;
  team_id?: string | null;
  /** Gives it to this person, with the secrets that it reads; for administrators. */
  owner_id?: string;
  runners?: Runners | null;
};
export type UploadFileFormDataRequest = {
  file: string;
  name?: string;
  media_type?: string;
  visibility?: 'private' | 'public';
  [name: string]: unknown;
};
export type Usage = {
  /**
   * The id of the run, agent, workflow or user, the day of UTC, the name of the model; of a
   * task the run's id followed by the JSON pointer. Empty: none.
   */
  key: string;
  name: string | null;
  invocations: number;
  /** Invocations of unknown cost: `cost_usd` is that of the others. */
  unpriced: number;
  input_tokens: number;
  output_tokens: number;
  /** Null: unknown. */
  cost_usd: number | null;
};
export type User = {
  id: string;
  username: string;
  email: string;
  display_name: string | null;
  roles: ('viewer' | 'approver' | 'builder' | 'admin')[];
  groups: string[];
  status: 'active' | 'disabled';
  /** Without one, only an external issuer or an invitation lets the user in. */
  has_password: boolean;
  /** An authenticator app or a passkey is set up, which the log-in asks for. */
  second_factor: boolean;
  /**
   * Until then the person may choose a password by the link of an invitation; null: none is
   * open.
   */
  invited_until: string | null;
  /** The external issuer that made the account. Its claims decide on the roles. */
  issuer_id: string | null;
  /** Of what agents use in the runs of this user; admins set it. */
  budget: Budget | null;
  /** What replaces the settings for this user; admins set it. */
  quotas: UserQuotas | null;
  /** When the person's data was erased; such an account stays empty. */
  erased_at: string | null;
  created_at: string;
  updated_at: string;
};
export type UserIdentity = {
  id: string;
  issuer_id: string;
  issuer_name: string;
  issuer_title: string;
  /** `sub` at the issuer. */
  subject: string | null;
  /** How the issuer names the user. */
  label: string | null;
  created_at: string;
  last_log_in_at: string | null;
};
export type UserInfo = {
  sub: string;
  name?: string;
  preferred_username?: string;
  email?: string;
  /** False: nobody has checked the address. */
  email_verified?: boolean;
};
export type UserQuotas = {
  live_runs?: number | null;
  runs_per_minute?: number | null;
  descendants?: number | null;
  run_events?: number | null;
  stored_bytes?: number | null;
  files?: number | null;
  agent_versions?: number | null;
  workflow_revisions?: number | null;
  schedules?: number | null;
  secrets?: number | null;
  webhooks?: number | null;
  inbound_webhooks?: number | null;
  event_sources?: number | null;
  chats?: number | null;
  tokens?: number | null;
  clients?: number | null;
  streams?: number | null;
};
export type UserReference = {
  id: string;
  username: string;
};
export type ValidateWorkflowRequest = {
  /**
   * Open Workflow Specification DSL 1.0.x: an object, or its text as YAML or JSON, which is
   * kept as it is written, with its comments. A missing `document` is generated from `name`.
   */
  definition: Record<string, unknown> | string;
  name?: string;
};
export type VerifyMeRequest = {
  password?: string;
  challenge?: string;
  /** Of the authenticator app: six digits. */
  code?: string;
  recovery_code?: string;
  passkey?: PasskeyAnswer;
};
export type Webhook = WebhookFields;
export type WebhookFields = {
  id: string;
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  team_id: string | null;
  url: string;
  /**
   * Event types: a name includes all types that continue it after a dot; `*` is a wildcard. An
   * empty list means all types.
   */
  types: string[];
  description: string | null;
  active: boolean;
  /** Why the platform disabled the webhook: its URL answered 410, or deliveries kept failing. */
  disabled_reason: ('gone' | 'failing') | null;
  disabled_at: string | null;
  /**
   * When the first of the attempts failed that have failed in a row; null if the last
   * succeeded.
   */
  failing_since: string | null;
  /** Why the last attempt failed; null if it succeeded. */
  last_error: string | null;
  /** Deliveries that wait to be sent; 100 also stands for more. */
  pending: number;
  /** After a rotation: requests are signed with the former secret too until then. */
  former_secret_until: string | null;
  created_at: string;
  updated_at: string;
  /** Types that match none of Cadenza's own events, such as a name with a typing mistake. */
  warnings: {
    pointer: string;
    message: string;
  }[];
};
export type WebhookResource = {
  kind: 'webhook';
  /** Identifies the webhook in its set. */
  name: string;
  url: string;
  /**
   * Event types, such as `io.cadenza.hitl` (and all types below it) or `*.faulted.v1`.
   * Default: all types.
   */
  types?: string[] | null;
  description?: string | null;
  active?: boolean | null;
  /** Placeholder of a secret whose value is `whsec_…`; needed to create it. */
  secret?: string | null;
};
export type Words = string[] | null;
export type WorkerToken = {
  id: string;
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  name: string;
  /** The agents that it serves. */
  agent_ids: string[];
  created_at: string;
  expires_at: string;
  /** To the minute. */
  last_used: string | null;
  /**
   * It serves no jobs until its owner has a second factor, which a role needs
   * (`SECOND_FACTOR_ROLES`).
   */
  awaits_second_factor: boolean;
};
export type Workflow = WorkflowFields & {
  description: string | null;
  /** Open Workflow Specification DSL 1.0.x. */
  definition: Record<string, unknown>;
  /**
   * Whether the definition is valid, nothing in it is unsupported, and every agent has a
   * matching version.
   */
  runnable: boolean;
  problems: DefinitionProblem[];
  input_schema: (Record<string, unknown> | boolean) | null;
  tags: string[];
};
export type WorkflowFields = {
  id: string;
  name: string;
  revision: number;
  valid: boolean;
  /**
   * What the revision took from elsewhere when it was saved, and runs with. Lists leave it
   * out; a record without any has none.
   */
  resources?: PinnedResource[];
  owner_id: string;
  /** Display name, or else username; null without a person. */
  owner_name?: string | null;
  team_id: string | null;
  /** Null for those who may not change the workflow. */
  runners: Runners | null;
  /** Display names, or else usernames, in the order of the ids. */
  runner_names?: (string | null)[];
  visibility: 'private' | 'public';
  budget: Budget | null;
  provenance: Provenance | null;
  /** What the caller may do with the workflow. `publish` means publishing to the marketplace. */
  can: ('run' | 'update' | 'delete' | 'publish' | 'move')[];
  /**
   * About what is beside the definition, for those who may change the workflow: a name that
   * another workflow of the same owner has, and groups of `runners` that nobody is in.
   */
  warnings: {
    pointer: string;
    code: 'name_taken' | 'empty_group';
    message: string;
  }[];
  created_at: string;
  updated_at: string;
};
export type WorkflowResource = {
  kind: 'workflow';
  name: string;
  /**
   * Open Workflow Specification DSL 1.0.x: an object, or its text as YAML or JSON, which is
   * kept as it is written, with its comments. A missing `document` is generated from `name`.
   */
  definition: Record<string, unknown> | string;
  description?: string | null;
  visibility?: ('private' | 'public') | null;
  tags?: string[] | null;
  budget?: Budget | null;
  runners?: Runners | null;
};
export type WorkflowRevision = WorkflowRevisionFields & {
  definition: Record<string, unknown>;
  /**
   * Whether the definition is valid, nothing in it is unsupported, and every agent has a
   * matching version.
   */
  runnable: boolean;
  problems: DefinitionProblem[];
  input_schema: (Record<string, unknown> | boolean) | null;
};
export type WorkflowRevisionFields = {
  workflow_id: string;
  revision: number;
  digest: string;
  valid: boolean;
  /**
   * What the revision took from elsewhere when it was saved, and runs with. Lists leave it
   * out; a record without any has none.
   */
  resources?: PinnedResource[];
  created_by: string;
  /** Display name, or else username; null without a person. */
  created_by_name?: string | null;
  created_at: string;
};
export type WorkflowSchema = Record<string, unknown>;
export interface Operations {
  /** Get where the document of the API, its reference, the console and the health checks are */
  getRoot: { answer: Root };
  /** Get the public keys of access tokens (RFC 7517) */
  getJwks: { answer: Jwks };
  /** Get the OAuth server metadata (RFC 8414) */
  getAuthorizationServerMetadata: { answer: AuthorizationServerMetadata };
  /** Get the metadata of this API as a protected resource (RFC 9728) */
  getProtectedResourceMetadata: { answer: ProtectedResourceMetadata };
  /** Get the metadata of the MCP server as a protected resource (RFC 9728) */
  getMcpResourceMetadata: { answer: ProtectedResourceMetadata };
  /** Get the metadata of the OpenID provider (OpenID Connect Discovery 1.0) */
  getOpenIdConfiguration: { answer: OpenIdProviderMetadata };
  /** List the absences of the caller, and those in which they are the deputy, newest first */
  listAbsences: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      user_id?: string | undefined;
      current?: boolean | undefined;
    };
    answer: Absence[];
  };
  /** Name a deputy for a period, who decides your human tasks meanwhile */
  createAbsence: { body: CreateAbsenceRequest; answer: Absence };
  /** End an absence now: you are back, or cannot be the deputy any more */
  endAbsence: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** List own and public agents, newest first */
  listAgents: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /**
       * `summary` omits fields larger than 1 KiB, `full` those larger than 16 KiB. `omitted` of
       * each record names them.
       */
      view?: 'full' | 'summary' | undefined;
      type?: 'docker' | 'api' | 'a2a' | 'llm' | 'vision' | 'audio' | 'sensor' | 'workflow' | undefined;
      status?: 'active' | 'inactive' | 'deprecated' | undefined;
      visibility?: 'private' | 'public' | undefined;
      /** Id of a user, or `me`. */
      owner_id?: string | undefined;
      team_id?: string | undefined;
      capability?: string | undefined;
      modality?: string | undefined;
      tag?: string | undefined;
      /** Text in the name or description. */
      q?: string | undefined;
      name?: string | undefined;
      /** The current version. */
      version?: string | undefined;
    };
    answer: ListedAgent[];
  };
  /** Register an agent and draft its first version */
  createAgent: { body: CreateAgentRequest; answer: Agent };
  /** Register agents from an A2A card, an OpenAPI document, an MCP server or a LangGraph server */
  importAgents: { body: ImportAgentsRequest; answer: AgentImport };
  /** Get the agent's card */
  getAgentCard: {
    path: {
      agent_id: string;
    };
    answer: AgentCard;
  };
  /** Get an agent with its versions and skills */
  getAgent: {
    path: {
      id: string;
    };
    answer: Agent;
  };
  /**
   * Update an agent; changing the configuration or schemas of a published version needs a
   * higher `version`
   */
  updateAgent: {
    path: {
      id: string;
    };
    body?: UpdateAgentRequest;
    answer: Agent;
  };
  /** Delete an agent with its versions and skills */
  deleteAgent: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Give a version a share of the agent's calls that name no version */
  setAgentCanary: {
    path: {
      id: string;
    };
    body: SetAgentCanaryRequest;
    answer: AgentCanary;
  };
  /** End an agent's canary: the highest published version gets all calls */
  deleteAgentCanary: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Try the agent's counterpart without doing any work, and keep the result */
  checkAgent: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: AgentCheck;
  };
  /** Close an agent's circuit breaker, so that it is called again */
  closeAgentCircuit: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: Agent;
  };
  /** Try an agent's versions on a data set, side by side */
  evaluateAgent: {
    path: {
      id: string;
    };
    query?: {
      name?: string | undefined;
      /** Separated by commas. */
      versions?: string | undefined;
      /** An agent: id or name. */
      judge?: string | undefined;
      /** What the judge goes by. */
      criteria?: string | undefined;
      concurrency?: number | undefined;
    };
    body?: EvaluateAgentRequest | Blob;
    answer: Evaluation;
  };
  /** List an agent's evaluations, newest first */
  listEvaluations: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: Evaluation[];
  };
  /** Invoke an agent, which starts a run */
  invokeAgent: {
    path: {
      id: string;
    };
    body?: InvokeAgentRequest;
    answer: Run;
  };
  /** List the jobs of an agent's external workers, newest first */
  listJobs: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      status?: 'waiting' | 'leased' | 'completed' | 'failed' | 'timed_out' | 'cancelled' | undefined;
      queue?: string | undefined;
      run_id?: string | undefined;
    };
    answer: Job[];
  };
  /** Take jobs of an agent, oldest first; waits for one */
  pollJobs: {
    path: {
      id: string;
    };
    body?: PollJobsRequest;
    answer: PolledJob[];
  };
  /** Get how many jobs of an agent wait, and which workers were seen lately */
  getJobQueue: {
    path: {
      id: string;
    };
    answer: JobQueue;
  };
  /** Show what has changed at the source of an imported agent, or apply it as a new draft */
  refreshAgent: {
    path: {
      id: string;
    };
    body?: RefreshAgentRequest;
    answer: AgentRefresh;
  };
  /** List the caller's runs that use the agent, newest first */
  listAgentRuns: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /**
       * `summary` omits fields larger than 1 KiB, `full` those larger than 16 KiB. `omitted` of
       * each record names them.
       */
      view?: 'full' | 'summary' | undefined;
    };
    answer: RunSummary[];
  };
  /** List the caller's conversations with an agent, newest first */
  listAgentSessions: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Text in the id or in what was said; case is ignored. */
      q?: string | undefined;
    };
    answer: AgentSession[];
  };
  /** Get one of the caller's conversations with an agent */
  getAgentSession: {
    path: {
      id: string;
      session: string;
    };
    answer: AgentSessionWithMessages;
  };
  /** Forget one of the caller's conversations with an agent */
  deleteAgentSession: {
    path: {
      id: string;
      session: string;
    };
    answer: undefined;
  };
  /** List an agent's skills, oldest first */
  listAgentSkills: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: ListedAgentSkill[];
  };
  /** Add a skill */
  createAgentSkill: {
    path: {
      id: string;
    };
    body: CreateAgentSkillRequest;
    answer: AgentSkill;
  };
  /** Update a skill */
  updateAgentSkill: {
    path: {
      id: string;
      skill_id: string;
    };
    body?: UpdateAgentSkillRequest;
    answer: AgentSkill;
  };
  /** Delete a skill */
  deleteAgentSkill: {
    path: {
      id: string;
      skill_id: string;
    };
    answer: undefined;
  };
  /** Get what the calls of each version of an agent have come to, and its canary */
  getAgentStats: {
    path: {
      id: string;
    };
    query?: {
      /** Of calls that began in the last hours. */
      hours?: number | undefined;
    };
    answer: AgentStats;
  };
  /** List an agent's versions, newest first */
  listAgentVersions: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /**
       * `summary` omits fields larger than 1 KiB, `full` those larger than 16 KiB. `omitted` of
       * each record names them.
       */
      view?: 'full' | 'summary' | undefined;
    };
    answer: ListedAgentVersion[];
  };
  /** Add a draft; omitted parts are copied from the current version */
  createAgentVersion: {
    path: {
      id: string;
    };
    body: CreateAgentVersionRequest;
    answer: AgentVersion;
  };
  /** Get one version of an agent */
  getAgentVersion: {
    path: {
      id: string;
      version: string;
    };
    answer: AgentVersion;
  };
  /** Update a draft */
  updateAgentVersion: {
    path: {
      id: string;
      version: string;
    };
    body?: UpdateAgentVersionRequest;
    answer: AgentVersion;
  };
  /** Deprecate a published version; it remains usable */
  deprecateAgentVersion: {
    path: {
      id: string;
      version: string;
    };
    body?: NoFields;
    answer: AgentVersion;
  };
  /** Publish a draft, which makes it immutable, and the current version if it is the highest */
  publishAgentVersion: {
    path: {
      id: string;
      version: string;
    };
    body?: NoFields;
    answer: AgentVersion;
  };
  /** List the tokens of an agent's external workers, oldest first */
  listWorkerTokens: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: WorkerToken[];
  };
  /** Create a token for external workers of an agent */
  createWorkerToken: {
    path: {
      id: string;
    };
    body: CreateWorkerTokenRequest;
    answer: NewWorkerToken;
  };
  /** End a token of external workers for an agent, at once */
  deleteWorkerToken: {
    path: {
      id: string;
      token_id: string;
    };
    answer: undefined;
  };
  /** Apply a set of agents, workflows, webhooks and event sources: all of it or nothing */
  applySet: { body: ApplySetRequest; answer: ApplyPlan };
  /** List what the caller's sets, or those of a team, have made, oldest first */
  listAppliedResources: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Name of the set; those of each user and team are separate. */
      set?: string | undefined;
      team_id?: string | undefined;
    };
    answer: AppliedResource[];
  };
  /** List the audit log, newest first: admins all of it, others what they did themselves */
  listAudit: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Id of a user, or `me`. */
      actor_id?: string | undefined;
      /**
       * An `operationId`, or a name of docs/audit.md such as `log_in`. Refused if it is neither,
       * and no entry has it.
       */
      action?: string | undefined;
      outcome?: 'done' | 'refused' | 'failed' | undefined;
      object_type?: string | undefined;
      object_id?: string | undefined;
      address?: string | undefined;
      from?: Instant | undefined;
      /** Before this time. */
      to?: Instant | undefined;
      /** Of what this team held then, or what moved to it. For its admins, and for administrators. */
      team_id?: string | undefined;
      /**
       * Oldest first, the entries after this cursor: `cursor` of the last entry that was read, or
       * 0 for all. They come once they are sealed, about ten seconds after they were written. None
       * comes later before a cursor.
       */
      after?: string | undefined;
    };
    answer: AuditEntry[];
  };
  /** Get the audit log as a stream, newest first, at most 100000 entries */
  exportAudit: {
    query?: {
      /** Id of a user, or `me`. */
      actor_id?: string | undefined;
      /**
       * An `operationId`, or a name of docs/audit.md such as `log_in`. Refused if it is neither,
       * and no entry has it.
       */
      action?: string | undefined;
      outcome?: 'done' | 'refused' | 'failed' | undefined;
      object_type?: string | undefined;
      object_id?: string | undefined;
      address?: string | undefined;
      from?: Instant | undefined;
      /** Before this time. */
      to?: Instant | undefined;
      /** Of what this team held then, or what moved to it. For its admins, and for administrators. */
      team_id?: string | undefined;
      /**
       * Oldest first, the entries after this cursor: `cursor` of the last entry that was read, or
       * 0 for all. They come once they are sealed, about ten seconds after they were written. None
       * comes later before a cursor.
       */
      after?: string | undefined;
      format?: 'ndjson' | 'csv' | undefined;
    };
    answer: Blob | string;
  };
  /** Check the chain of the audit log: up to 200 seals a request */
  verifyAudit: {
    query?: {
      after?: string | undefined;
      head?: string | string[] | undefined;
    };
    answer: AuditVerification;
  };
  /** Ask a user to approve an OAuth client: the authorization endpoint, a page (RFC 6749) */
  authorize: {
    query?: {
      response_type?: string | undefined;
      client_id?: string | undefined;
      redirect_uri?: string | undefined;
      state?: string | undefined;
      scope?: string | undefined;
      code_challenge?: string | undefined;
      code_challenge_method?: string | undefined;
      resource?: string | undefined;
      nonce?: string | undefined;
      prompt?: string | undefined;
      max_age?: string | undefined;
      resumed?: string | undefined;
    };
    answer: string;
  };
  /** Log in, allow or deny: the form of the authorization page */
  decideAuthorization: { body?: Blob | FormData | Uint8Array | string; answer: undefined };
  /** List the registered OAuth clients, oldest first */
  listRegisteredClients: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: RegisteredClient[];
  };
  /** Remove an OAuth client; all of its sessions end */
  deleteRegisteredClient: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Ask for a code that a user approves in a browser (RFC 8628) */
  createDeviceCode: { body?: Blob | FormData | Uint8Array | string; answer: DeviceCodes };
  /** Get what asks with a user code, before you approve it */
  getDeviceRequest: {
    query: {
      /** As the program shows it; case, spaces and hyphens do not count. */
      user_code: string;
    };
    answer: DeviceRequest;
  };
  /** Approve or deny what asks with a user code */
  decideDeviceRequest: { body: DecideDeviceRequestRequest; answer: undefined };
  /** List what the log-in screen offers: issuers, and a link after a password was forgotten */
  listLogInChoices: { answer: LogInChoices };
  /** Get what a browser needs to log in by a passkey, without a password */
  beginPasskeyLogIn: { body?: NoFields; answer: PasskeyChallenge };
  /** Choose a password by a link, which works once */
  choosePassword: { body: ChoosePasswordRequest; answer: undefined };
  /** Get for whom a link to choose a password is; changes nothing */
  readPasswordLink: { body: ReadPasswordLinkRequest; answer: PasswordLink };
  /** Ask for a link by mail, because the password was forgotten */
  requestPasswordLink: { body: RequestPasswordLinkRequest; answer: undefined };
  /** Register an OAuth client (RFC 7591) */
  registerClient: { body?: ClientRegistration; answer: RegisteredClientInformation };
  /** Log out: end the session of a refresh or access token (RFC 7009) */
  revokeToken: { body?: Revocation; answer: undefined };
  /** Send the browser to an issuer, where its user logs in */
  beginIssuerLogIn: {
    path: {
      name: string;
    };
    query?: {
      return_to?: string | undefined;
      fresh?: 'true' | 'false' | undefined;
    };
    answer: undefined;
  };
  /** Where an issuer sends the browser back */
  completeIssuerLogIn: {
    path: {
      name: string;
    };
    answer: undefined;
  };
  /** An issuer ends sessions (OpenID Connect Back-Channel Logout 1.0) */
  endSessionsByIssuer: {
    path: {
      name: string;
    };
    body?: Blob | FormData | Uint8Array | string;
    answer: undefined;
  };
  /** Log in with a password, refresh token, client credentials or a device code */
  createToken: { body?: TokenRequest; answer: TokenAnswer };
  /** Get who the user of an OpenID Connect session is */
  getUserInfo: { answer: UserInfo };
  /** Get who the user of an OpenID Connect session is, by POST */
  postUserInfo: { body?: NoFields; answer: UserInfo };
  /** Get the last complete backup and the last one that failed */
  getLatestBackups: { answer: Backups };
  /**
   * List the budgets of what the caller and their teams hold, and of their runs; admins see
   * all
   */
  listBudgets: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      subject?: 'run' | 'workflow' | 'agent' | 'user' | undefined;
    };
    answer: BudgetState[];
  };
  /** Get what is used of the budget of an agent, a workflow, a user or a run */
  getBudget: {
    path: {
      id: string;
    };
    answer: BudgetState;
  };
  /** Raise a budget for this window, or for good */
  raiseBudget: {
    path: {
      id: string;
    };
    body?: RaiseBudgetRequest;
    answer: BudgetState;
  };
  /** See whether a callback is still waited for; changes nothing */
  getCallback: {
    path: {
      token: string;
    };
    answer: CallbackAnswer;
  };
  /** Complete a call from outside, once */
  receiveCallback: {
    path: {
      token: string;
    };
    body?: Callback;
    answer: CallbackAnswer;
  };
  /** Get the functions that every definition can call without naming a catalog */
  getDefaultCatalog: { answer: Catalog };
  /** Log in a browser: the session is in a cookie that scripts cannot read */
  createSession: { body: CreateSessionRequest; answer: User };
  /** Get the user who is logged in, or 204 */
  getSession: { answer: User | undefined };
  /** Log out: end the session of this browser */
  deleteSession: { answer: LoggedOut | undefined };
  /** List the caller's conversations with all agents, newest first */
  listConversations: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      agent_id?: string | undefined;
      /** Text in the id or in what was said; case is ignored. */
      q?: string | undefined;
    };
    answer: AgentSession[];
  };
  /** Show the task of a decision link: a page that changes nothing */
  showDecisionLink: {
    path: {
      token: string;
    };
    answer: string;
  };
  /** Decide the task of a decision link, once: the form of its page */
  decideByLink: {
    path: {
      token: string;
    };
    body?: Blob | FormData | Uint8Array | string;
    answer: string;
  };
  /** Get an agent's documentation as a page, or as Markdown if `Accept` asks for it */
  getAgentDocumentation: {
    path: {
      id: string;
    };
    answer: string;
  };
  /** Get an evaluation with its report */
  getEvaluation: {
    path: {
      id: string;
    };
    answer: Evaluation;
  };
  /** Delete an evaluation that has ended, with its report */
  deleteEvaluation: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** List the cases of an evaluation with what each version has given */
  listEvaluationCases: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /**
       * Cases that any version failed, or that ended in an error; whose outputs differ; that the
       * first version passes and another does not (`regressed`), or the other way round
       * (`improved`).
       */
      only?: 'failed' | 'error' | 'regressed' | 'improved' | 'differs' | undefined;
    };
    answer: EvaluationCaseWithResults[];
  };
  /** Try the cases of an evaluation again that ended in an error, or that failed */
  retryEvaluation: {
    path: {
      id: string;
    };
    body?: RetryEvaluationRequest;
    answer: Evaluation;
  };
  /** List the caller's event sources and those of their teams, newest first; admins see all */
  listEventSources: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Id of a user, or `me`. */
      owner_id?: string | undefined;
      team_id?: string | undefined;
    };
    answer: EventSource[];
  };
  /** Bind a source to a sender, or share its events */
  createEventSource: { body: CreateEventSourceRequest; answer: EventSource };
  /** Get an event source */
  getEventSource: {
    path: {
      id: string;
    };
    answer: EventSource;
  };
  /** Change an event source */
  updateEventSource: {
    path: {
      id: string;
    };
    body?: UpdateEventSourceRequest;
    answer: EventSource;
  };
  /** Delete an event source: everybody who may send events of the owner may send it again */
  deleteEventSource: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Stream events of all runs that the caller may see, as Server-Sent Events */
  streamEvents: {
    query?: {
      /**
       * Event types, separated by commas, such as `io.cadenza.hitl` (and all types below it) or
       * `*.faulted.v1`.
       */
      types?: string | undefined;
      run_id?: string | undefined;
      workflow_id?: string | undefined;
      /** Only the caller's own runs and tasks, for admins who see all others too. */
      mine?: boolean | undefined;
    };
    answer: EventStream;
  };
  /** Send CloudEvents in, for yourself or for a team */
  publishEvent: {
    query?: {
      /** A team whose workflows get the events. */
      team_id?: string | undefined;
    };
    body: CloudEvent;
    answer: PublishEventResponse;
  };
  /** List the caller's events that were sent in or emitted, newest first */
  listReceivedEvents: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Id of a user, or `me`. */
      owner_id?: string | undefined;
      team_id?: string | undefined;
      source?: string | undefined;
      event_id?: string | undefined;
      type?: string | undefined;
      received_after?: Instant | undefined;
      received_before?: Instant | undefined;
    };
    answer: ListedReceivedEvent[];
  };
  /** Get an event that was sent in or emitted */
  getReceivedEvent: {
    path: {
      id: string;
    };
    answer: ReceivedEvent;
  };
  /** Upload a file of up to 100 MiB */
  uploadFile: {
    query?: {
      name?: string | undefined;
      visibility?: 'private' | 'public' | undefined;
      /** The team that the file is for; default: the caller. */
      team_id?: string | undefined;
      /**
       * The human task that the file is for. Whoever can decide it may upload up to 50 files of up
       * to 25 MiB, which are private and are removed with the run.
       */
      human_task?: string | undefined;
      /**
       * The workflow that the caller is about to start with the file. Whoever may start it may
       * have up to 50 files that no run has taken yet, as a runner of up to 25 MiB. They are
       * private, only runs of the workflow take them, as input, and they are removed with the run,
       * or after a day without one.
       */
      workflow?: string | undefined;
    };
    body: Blob | FormData | Uint8Array | string;
    answer: File;
  };
  /** List files that the caller may see, newest first */
  listFiles: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Part of the name. */
      q?: string | undefined;
      /** Id of a user, or `me`. */
      owner_id?: string | undefined;
      team_id?: string | undefined;
      visibility?: 'private' | 'public' | undefined;
      sha256?: string | undefined;
      /** Input and output files of this run. */
      run_id?: string | undefined;
    };
    answer: File[];
  };
  /** Download a file */
  downloadFile: {
    path: {
      id: string;
    };
    query?: {
      /** Token from a link to this file. */
      token?: string | undefined;
    };
    answer: Blob;
  };
  /** Rename a file, change its visibility, or give it to a team or another person */
  updateFile: {
    path: {
      id: string;
    };
    body?: UpdateFileRequest;
    answer: File;
  };
  /** Delete a file */
  deleteFile: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Create a temporary link that downloads a file without a login */
  createFileLink: {
    path: {
      id: string;
    };
    body?: CreateFileLinkRequest;
    answer: FileLink;
  };
  /** Get a file's metadata */
  getFile: {
    path: {
      id: string;
    };
    answer: File;
  };
  /** Check that the process is alive */
  getHealth: { answer: GetHealthResponse };
  /** Decide several human tasks, each with its own result */
  decideHumanTasks: { body: DecideHumanTasksRequest; answer: HumanTaskBatch };
  /** Count the human tasks of the caller */
  getHumanTaskSummary: { answer: HumanTaskSummary };
  /** List the caller's human tasks, by default by priority, then age */
  listHumanTasks: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /**
       * `summary` omits fields larger than 1 KiB, `full` those larger than 16 KiB. `omitted` of
       * each record names them.
       */
      view?: 'full' | 'summary' | undefined;
      /**
       * `mine`: undecided tasks that the caller can decide now. `candidate`: also their tasks that
       * wait for others or that they may not decide. `all`: the tasks of all users, for admins
       * only.
       */
      scope?: 'mine' | 'candidate' | 'all' | undefined;
      /** One or more, separated by commas. Default: undecided tasks. */
      status?: string | undefined;
      priority?: number | undefined;
      /** Undecided tasks that are past `due_at`. */
      overdue?: boolean | undefined;
      /** Tasks whose `due_at` is earlier. */
      due_before?: Instant | undefined;
      /** Id of a user, or `me`. */
      claimed_by?: string | undefined;
      run_id?: string | undefined;
      workflow_id?: string | undefined;
      /** The team of the run's workflow. */
      team_id?: string | undefined;
      /** Text in the title, description, task or workflow name. */
      q?: string | undefined;
      /**
       * `priority`: highest first. `due`: earliest `due_at` first, tasks without one last.
       * `created`: oldest first. Equal tasks are sorted by age, oldest first.
       */
      sort?: 'priority' | 'due' | 'created' | undefined;
    };
    answer: ListedHumanTask[];
  };
  /** Get a human task */
  getHumanTask: {
    path: {
      id: string;
    };
    answer: HumanTask;
  };
  /** List who did what with a human task, oldest first */
  listHumanTaskAudit: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: HumanTaskAuditEntry[];
  };
  /** Claim a human task, so that nobody else can decide it */
  claimHumanTask: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: HumanTask;
  };
  /** Comment on a human task */
  commentHumanTask: {
    path: {
      id: string;
    };
    body: CommentHumanTaskRequest;
    answer: HumanTaskComment;
  };
  /** Decide a human task or vote on it */
  decideHumanTask: {
    path: {
      id: string;
    };
    body: DecideHumanTaskRequest;
    answer: HumanTaskDecided;
  };
  /** Delegate a human task to another user */
  delegateHumanTask: {
    path: {
      id: string;
    };
    body: DelegateHumanTaskRequest;
    answer: HumanTask;
  };
  /** Release a claimed human task */
  releaseHumanTask: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: HumanTask;
  };
  /** List the caller's inbound webhooks and those of their teams, newest first; admins see all */
  listHooks: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Id of a user, or `me`. */
      owner_id?: string | undefined;
      team_id?: string | undefined;
    };
    answer: InboundWebhook[];
  };
  /** Create an address to which another service sends its webhooks */
  createHook: { body: CreateHookRequest; answer: InboundWebhook };
  /** Get an inbound webhook */
  getHook: {
    path: {
      id: string;
    };
    answer: InboundWebhook;
  };
  /** Change an inbound webhook */
  updateHook: {
    path: {
      id: string;
    };
    body?: UpdateHookRequest;
    answer: InboundWebhook;
  };
  /** Delete an inbound webhook; its events stay */
  deleteHook: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Take the call of another service */
  receiveHook: {
    path: {
      id: string;
    };
    body: Blob | FormData | Uint8Array | string;
    answer: HookAnswer | string;
  };
  /** List the external issuers, oldest first */
  listIssuers: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: IdentityIssuer[];
  };
  /** Add an external OpenID Connect issuer */
  createIssuer: { body: CreateIssuerRequest; answer: IdentityIssuer };
  /** Get an external issuer */
  getIssuer: {
    path: {
      id: string;
    };
    answer: IdentityIssuer;
  };
  /** Change or disable an external issuer */
  updateIssuer: {
    path: {
      id: string;
    };
    body?: UpdateIssuerRequest;
    answer: IdentityIssuer;
  };
  /** Remove an issuer: its sessions end, its users stay without its groups */
  deleteIssuer: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Read the configuration and the keys of an issuer now */
  checkIssuer: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: IssuerFacts;
  };
  /** List the programs whose access tokens of an issuer are accepted, oldest first */
  listMachines: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: IssuerMachine[];
  };
  /** Accept access tokens of an issuer with certain claims as those of an account */
  createMachine: {
    path: {
      id: string;
    };
    body: CreateMachineRequest;
    answer: IssuerMachine;
  };
  /** Accept the access tokens of a program no longer, immediately */
  deleteMachine: {
    path: {
      id: string;
      machine_id: string;
    };
    answer: undefined;
  };
  /** List the SCIM tokens of an issuer, oldest first */
  listScimTokens: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: ScimToken[];
  };
  /** Create a token with which the issuer provisions users and groups at `/scim/v2` */
  createScimToken: {
    path: {
      id: string;
    };
    body: CreateScimTokenRequest;
    answer: NewScimToken;
  };
  /** Delete a SCIM token; it stops working immediately */
  deleteScimToken: {
    path: {
      id: string;
      token_id: string;
    };
    answer: undefined;
  };
  /** Complete a job with its output, once; a repeat is harmless */
  completeJob: {
    path: {
      id: string;
    };
    body: CompleteJobRequest;
    answer: JobAnswer;
  };
  /** Fail a job: it is handed out again, or its task faults */
  failJob: {
    path: {
      id: string;
    };
    body?: FailJobRequest;
    answer: JobAnswer;
  };
  /** Add a file to a job's run, for its output */
  uploadJobFile: {
    path: {
      id: string;
    };
    query?: {
      name?: string | undefined;
    };
    body: Blob | FormData | Uint8Array | string;
    answer: File;
  };
  /** Download a file of a job's input, as the worker that holds the job */
  downloadJobFile: {
    path: {
      id: string;
      file_id: string;
    };
    answer: Blob;
  };
  /** Keep a job: extends the lease, and tells whether to stop */
  heartbeatJob: {
    path: {
      id: string;
    };
    body?: HeartbeatJobRequest;
    answer: JobLease;
  };
  /** List approved items, and own items in any status */
  listMarketplaceItems: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /**
       * `summary` omits fields larger than 1 KiB, `full` those larger than 16 KiB. `omitted` of
       * each record names them.
       */
      view?: 'full' | 'summary' | undefined;
      kind?: 'agent' | 'workflow' | undefined;
      category?: string | undefined;
      tag?: string | undefined;
      /** Id or username. */
      publisher?: string | undefined;
      status?: 'submitted' | 'approved' | 'rejected' | 'withdrawn' | undefined;
      /** The published agent or workflow. */
      ref_id?: string | undefined;
      /** Items with a version that awaits moderation; except for admins, own items only. */
      waiting?: boolean | undefined;
      /** Text in the name, summary or description. */
      q?: string | undefined;
      sort?: 'new' | 'installs' | 'rating' | undefined;
    };
    answer: ListedMarketplaceItem[];
  };
  /** Submit an own agent version or workflow revision for approval by an admin */
  submitMarketplaceItem: { body: SubmitMarketplaceItemRequest; answer: MarketplaceSubmission };
  /** Get a marketplace item */
  getMarketplaceItem: {
    path: {
      id: string;
    };
    answer: MarketplaceItem;
  };
  /** Withdraw an item; installed copies remain, and it can be submitted again */
  withdrawMarketplaceItem: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Approve a version, so that everybody can see and install it */
  approveMarketplaceItem: {
    path: {
      id: string;
    };
    body?: ApproveMarketplaceItemRequest;
    answer: MarketplaceItem;
  };
  /** Get what an installation by the caller would use, and which secrets it can bind */
  planMarketplaceInstall: {
    path: {
      id: string;
    };
    query?: {
      team_id?: string | undefined;
    };
    answer: MarketplaceInstallPlan;
  };
  /** Install a copy of an item in the caller's registry, or in that of a team */
  installMarketplaceItem: {
    path: {
      id: string;
    };
    body?: InstallMarketplaceItemRequest;
    answer: MarketplaceInstall;
  };
  /** Reject a version or take down an approved one, with a reason for the publisher */
  rejectMarketplaceItem: {
    path: {
      id: string;
    };
    body: RejectMarketplaceItemRequest;
    answer: MarketplaceItem;
  };
  /** List an item's reviews, newest first */
  listMarketplaceReviews: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Only the review by this user. */
      user_id?: string | undefined;
    };
    answer: MarketplaceReview[];
  };
  /** Review an installed item; a second review replaces the first */
  reviewMarketplaceItem: {
    path: {
      id: string;
    };
    body: ReviewMarketplaceItemRequest;
    answer: MarketplaceReview;
  };
  /**
   * Get one version of an item with its content, for inspection before approval or
   * installation
   */
  getMarketplaceVersion: {
    path: {
      id: string;
      version: string;
    };
    answer: MarketplaceVersion;
  };
  /** Get metrics of this process and of the platform, for Prometheus */
  getMetrics: { answer: string };
  /** List the caller's notifications, newest first */
  listNotifications: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      unread?: boolean | undefined;
      kind?: 'assigned' | 'candidate' | 'reminder' | 'escalation' | 'expiring' | 'mentioned' | undefined;
    };
    answer: Notification[];
  };
  /** List the caller's chats, and those of teams that they administer; admins see all */
  listNotificationChannels: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: NotificationChannel[];
  };
  /** Have a chat told of human tasks */
  createNotificationChannel: { body: CreateNotificationChannelRequest; answer: NotificationChannel };
  /** Change a chat, turn it off or on, or move it to another person */
  updateNotificationChannel: {
    path: {
      id: string;
    };
    body?: UpdateNotificationChannelRequest;
    answer: NotificationChannel;
  };
  /** Remove a chat; nothing is sent to it any more */
  deleteNotificationChannel: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Send a test message to a chat now */
  testNotificationChannel: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: TestMessage;
  };
  /** Mark notifications as read */
  markNotificationsRead: { body: MarkNotificationsReadRequest; answer: UnreadNotifications };
  /** Get what the caller is told, and when */
  getNotificationSettings: { answer: NotificationSettings };
  /** Choose what you are told, and when */
  putNotificationSettings: { body?: PutNotificationSettingsRequest; answer: NotificationSettings };
  /** Stream how many notifications the caller has not read, as Server-Sent Events */
  streamNotifications: { answer: EventStream };
  /** Count the notifications that the caller has not read */
  getNotificationSummary: { answer: UnreadNotifications };
  /** Send a mail to yourself now, to try the mail server */
  sendTestMail: { body?: NoFields; answer: TestMail };
  /** Ask whether to turn mails off; changes nothing */
  showUnsubscribe: {
    path: {
      token: string;
    };
    query?: {
      /** Separated by commas. Default: all. */
      kinds?: string | undefined;
    };
    answer: string;
  };
  /** Turn mails off, with one click of a mail program (RFC 8058) */
  unsubscribe: {
    path: {
      token: string;
    };
    query?: {
      /** Separated by commas. Default: all. */
      kinds?: string | undefined;
    };
    body?: Blob | FormData | Uint8Array | string;
    answer: string;
  };
  /** Get the API as an OpenAPI 3.1 document */
  getOpenApi: { answer: GetOpenApiResponse };
  /** List the prices of models, oldest first */
  listPrices: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      model?: string | undefined;
      provider?: string | undefined;
      /** Only prices that are valid at that time. */
      at?: Instant | undefined;
    };
    answer: Price[];
  };
  /** Add a price of a model */
  createPrice: { body: CreatePriceRequest; answer: Price };
  /** Get a price */
  getPrice: {
    path: {
      id: string;
    };
    answer: Price;
  };
  /** Add or replace the price of this id; costs that are booked stay */
  replacePrice: {
    path: {
      id: string;
    };
    body: ReplacePriceRequest;
    answer: Price;
  };
  /** Delete a price; costs that are booked stay */
  deletePrice: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /**
   * Check that the process can serve; degraded if Temporal or the file store is down, or runs
   * are stuck
   */
  getReadiness: { answer: Readiness };
  /** List the caller's runs, newest first */
  listRuns: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /**
       * `summary` omits fields larger than 1 KiB, `full` those larger than 16 KiB. `omitted` of
       * each record names them.
       */
      view?: 'full' | 'summary' | undefined;
      /** One or more, separated by commas. */
      status?: string | undefined;
      workflow_id?: string | undefined;
      agent_id?: string | undefined;
      parent_run_id?: string | undefined;
      created_after?: Instant | undefined;
      created_before?: Instant | undefined;
      /** Id of a user, or `me`. */
      owner_id?: string | undefined;
      /** The team of the run's workflow. */
      team_id?: string | undefined;
      /** A tag of the run's workflow. */
      tag?: string | undefined;
      /** Tags of the run itself, separated by commas: all of them. */
      run_tag?: string | undefined;
      /** Labels of the run as `name=value`, separated by commas: all of them. */
      label?: string | undefined;
      /** The key that the run was started with. */
      key?: string | undefined;
      /** Text in the workflow's name, or a run's whole id. */
      q?: string | undefined;
    };
    answer: RunSummary[];
  };
  /** Cancel, suspend, resume or retry several runs, each with its own result */
  actOnRuns: { body: ActOnRunsRequest; answer: RunBatch };
  /** Count the caller's runs by hour or day */
  getRunStats: {
    query?: {
      by?: 'hour' | 'day' | undefined;
      /**
       * One or more, up to 200, separated by commas: a series for each. Default: one series of all
       * runs.
       */
      workflow_id?: string | undefined;
      /** A team: only runs of the workflows that it has now, for its builders whoever started them. */
      team_id?: string | undefined;
      /** In the first hour or day. Default: 24 hours or 14 days before `to`. */
      from?: Instant | undefined;
      /** After the last hour or day. Default: now. */
      to?: Instant | undefined;
    };
    answer: RunStats;
  };
  /** Get the status, tasks and log of a run */
  getRun: {
    path: {
      id: string;
    };
    answer: Run;
  };
  /** Cancel a run */
  cancelRun: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: Run;
  };
  /** Get a diagram of the run with the state of its tasks, as Mermaid or (by `Accept`) SVG */
  getRunDiagram: {
    path: {
      id: string;
    };
    answer: string;
  };
  /** Stream a run's log as Server-Sent Events */
  streamRunEvents: {
    path: {
      id: string;
    };
    answer: EventStream | undefined;
  };
  /** List the log entries of a run, oldest first, or newest first with `before` */
  listRunLogs: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** This level and more severe ones. */
      level?: 'debug' | 'info' | 'warn' | 'error' | undefined;
      /** JSON pointer of a task. */
      task?: string | undefined;
      /** Only entries with a higher `seq`. */
      after?: number | undefined;
      /** Only entries with a lower `seq`, newest first. */
      before?: number | undefined;
    };
    answer: LogEntry[];
  };
  /** Resume a suspended run */
  resumeRun: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: Run;
  };
  /** Retry a failed run: start a new run that continues from the failed task */
  retryRun: {
    path: {
      id: string;
    };
    body?: RetryRunRequest;
    answer: Run;
  };
  /** Suspend a run: running tasks finish, but no new ones start */
  suspendRun: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: Run;
  };
  /** List the started tasks of a run in start order */
  listRunTasks: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** JSON pointer of a task: only its visits. */
      reference?: string | undefined;
      /** One or more, separated by commas. */
      status?: string | undefined;
      /** Only tasks that started before the log entry with this `seq`, newest first. */
      before?: number | undefined;
    };
    answer: RunTask[];
  };
  /** List the tasks of a run in start order, all visits of a task as one record */
  listRunTaskGroups: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: RunTaskGroup[];
  };
  /** Get a task of a run with its input and output */
  getRunTask: {
    path: {
      id: string;
      reference: string;
    };
    query?: {
      /**
       * Which visit of the task; default: the last. Below 1: what a retry with changes has asked
       * again.
       */
      visit?: number | undefined;
    };
    answer: RunTaskVisit;
  };
  /** Terminate a stuck run immediately */
  terminateRun: {
    path: {
      id: string;
    };
    body?: TerminateRunRequest;
    answer: Run;
  };
  /** Get the JSON Schema of workflow definitions, for editors */
  getWorkflowSchema: { answer: WorkflowSchema };
  /** List the names of the caller's secrets, sorted by name */
  listSecrets: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** A team whose secrets are meant, instead of the caller's own. */
      team_id?: string | undefined;
    };
    answer: Secret[];
  };
  /** Get when a secret was created and updated; its value is never returned */
  getSecret: {
    path: {
      name: string;
    };
    query?: {
      /** A team whose secrets are meant, instead of the caller's own. */
      team_id?: string | undefined;
    };
    answer: Secret;
  };
  /** Store a secret, encrypted; own agents' configuration refers to it as `<NAME>` */
  putSecret: {
    path: {
      name: string;
    };
    query?: {
      /** A team whose secrets are meant, instead of the caller's own. */
      team_id?: string | undefined;
    };
    body: PutSecretRequest;
    answer: Secret;
  };
  /** Delete a secret; invocations of agents that refer to it will fail */
  deleteSecret: {
    path: {
      name: string;
    };
    query?: {
      /** A team whose secrets are meant, instead of the caller's own. */
      team_id?: string | undefined;
    };
    answer: undefined;
  };
  /** List the workflows that the caller may start, newest first */
  listStartableWorkflows: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Text in the name. */
      q?: string | undefined;
      /** Only those of which the caller is a runner. */
      granted?: boolean | undefined;
    };
    answer: StartableWorkflow[];
  };
  /** Get the name and input schema of a workflow that the caller may start */
  getStartableWorkflow: {
    path: {
      id: string;
    };
    answer: StartableWorkflow;
  };
  /** List the caller's teams by name; administrators see all */
  listTeams: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Text in the name. */
      q?: string | undefined;
      /** Only teams that the caller is a member of. */
      mine?: boolean | undefined;
    };
    answer: Team[];
  };
  /** Create a team */
  createTeam: { body: CreateTeamRequest; answer: Team };
  /** Get a team */
  getTeam: {
    path: {
      id: string;
    };
    answer: Team;
  };
  /** Rename or describe a team; for its admins. Administrators set its quotas */
  updateTeam: {
    path: {
      id: string;
    };
    body?: UpdateTeamRequest;
    answer: Team;
  };
  /** Delete a team that owns nothing any more; for its admins */
  deleteTeam: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** List the groups whose people have a role in a team, by name */
  listTeamGroups: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: TeamGroup[];
  };
  /** Give everybody in a group a role in a team; for its admins */
  putTeamGroup: {
    path: {
      id: string;
      group: string;
    };
    body: PutTeamGroupRequest;
    answer: TeamGroup;
  };
  /** Take a role in a team from the people of a group; for admins of the team */
  removeTeamGroup: {
    path: {
      id: string;
      group: string;
    };
    answer: undefined;
  };
  /** List the members of a team */
  listTeamMembers: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: TeamMember[];
  };
  /** Add a member to a team, or change their role in it; for its admins */
  putTeamMember: {
    path: {
      id: string;
      user_id: string;
    };
    body: PutTeamMemberRequest;
    answer: TeamMember;
  };
  /** Remove a member from a team; for its admins, and for members themselves */
  removeTeamMember: {
    path: {
      id: string;
      user_id: string;
    };
    answer: undefined;
  };
  /** Decrypt payloads for Temporal's web UI, with its user's token */
  decodePayloads: {
    query?: {
      preserveStorageRefs?: 'true' | 'false' | undefined;
    };
    body: TemporalPayloads;
    answer: TemporalPayloads;
  };
  /** Decrypt payloads for a Temporal web UI that has no log-in */
  decodeTemporalPayloads: {
    path: {
      capability: string;
    };
    query?: {
      preserveStorageRefs?: 'true' | 'false' | undefined;
    };
    body: TemporalPayloads;
    answer: TemporalPayloads;
  };
  /** Sum up what agents have used in the caller's runs; admins see all */
  listUsage: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      by?: 'run' | 'task' | 'agent' | 'workflow' | 'user' | 'day' | 'model' | undefined;
      /** A time in the first day. */
      from?: Instant | undefined;
      /** The end: in the last day, or at its end. */
      to?: Instant | undefined;
      /** Id of a user, or `me`. */
      user_id?: string | undefined;
      agent_id?: string | undefined;
      workflow_id?: string | undefined;
      run_id?: string | undefined;
    };
    answer: Usage[];
  };
  /** Get the usage as a table in CSV, of at most 10000 rows */
  exportUsage: {
    query?: {
      by?: 'run' | 'task' | 'agent' | 'workflow' | 'user' | 'day' | 'model' | undefined;
      /** A time in the first day. */
      from?: Instant | undefined;
      /** The end: in the last day, or at its end. */
      to?: Instant | undefined;
      /** Id of a user, or `me`. */
      user_id?: string | undefined;
      agent_id?: string | undefined;
      workflow_id?: string | undefined;
      run_id?: string | undefined;
    };
    answer: string;
  };
  /** Get the limits of the caller, of a team or, for admins, of a user or the platform */
  getUsageLimits: {
    query?: {
      /** Id of a user, or `me`. */
      user_id?: string | undefined;
      /** A team that the caller is a member of. */
      team_id?: string | undefined;
      /** What all users and teams have together. */
      platform?: boolean | undefined;
    };
    answer: QuotaStates;
  };
  /** List users, oldest first */
  listUsers: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Text in the username, email address or display name. */
      q?: string | undefined;
      role?: 'viewer' | 'approver' | 'builder' | 'admin' | undefined;
      group?: string | undefined;
      status?: 'active' | 'disabled' | undefined;
    };
    answer: User[];
  };
  /** Create a user */
  createUser: { body: CreateUserRequest; answer: User };
  /** List people by username */
  listPeople: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Text in the username or display name; case is ignored. */
      q?: string | undefined;
      /** The whole username; case is ignored. */
      username?: string | undefined;
      /** Ids of users, separated by commas, at most 200. */
      ids?: string | undefined;
    };
    answer: Person[];
  };
  /** Get the current user */
  getMe: { answer: User };
  /** List your machine clients, oldest first */
  listMyClients: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: Client[];
  };
  /** Create a machine client, which acts as you with client credentials */
  createMyClient: { body: CreateMyClientRequest; answer: NewClient };
  /** Delete a machine client; its tokens stop working immediately */
  deleteMyClient: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** List your identities at external issuers, oldest first */
  listMyIdentities: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: UserIdentity[];
  };
  /** Begin to link an identity of yours: open the address in this browser */
  linkMyIdentity: { body: LinkMyIdentityRequest; answer: IssuerAddress };
  /** Unlink an identity; the sessions that it opened end */
  unlinkMyIdentity: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Register a passkey; the first second factor gives recovery codes */
  createMyPasskey: { body: CreateMyPasskeyRequest; answer: RecoveryCodes };
  /** Get what a browser needs to make a passkey (WebAuthn) */
  beginMyPasskey: { body?: NoFields; answer: PasskeyChallenge };
  /** Remove a passkey */
  deleteMyPasskey: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Switch your log-in by password off, which ends all your sessions */
  deleteMyPassword: { answer: undefined };
  /** Change your password, which ends all your sessions and deletes your machine clients */
  changeMyPassword: { body: ChangeMyPasswordRequest; answer: undefined };
  /** Get what is stored about you */
  getMyPersonalData: { answer: Blob };
  /** Get your preferences */
  getMyPreferences: { answer: Preferences };
  /** Replace your preferences, at most 64 KiB */
  putMyPreferences: { body?: Preferences; answer: Preferences };
  /** Get ten new recovery codes, each for one log-in; the former ones end */
  renewMyRecoveryCodes: { body?: NoFields; answer: RecoveryCodes };
  /** Get your second factors */
  getMySecondFactors: { answer: SecondFactors };
  /** List your sessions, oldest first */
  listMySessions: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: Session[];
  };
  /** End all your sessions but this one */
  deleteMyOtherSessions: { answer: undefined };
  /** End one of your sessions */
  deleteMySession: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** List your personal access tokens, oldest first */
  listMyTokens: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: AccessToken[];
  };
  /** Create a personal access token, which acts as you within its scopes */
  createMyToken: { body: CreateMyTokenRequest; answer: NewAccessToken };
  /** Delete a personal access token; it stops working immediately */
  deleteMyToken: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Get a secret for an authenticator app (RFC 6238), which counts once it is confirmed */
  beginMyTotp: { body?: NoFields; answer: NewTotp };
  /** Remove the authenticator app */
  deleteMyTotp: { answer: undefined };
  /**
   * Confirm the authenticator app with a code of it; the first second factor gives recovery
   * codes
   */
  confirmMyTotp: { body: ConfirmMyTotpRequest; answer: RecoveryCodes };
  /**
   * Show again who you are, by one of these; for 5 minutes the session counts as freshly
   * logged in
   */
  verifyMe: { body?: VerifyMeRequest; answer: undefined };
  /** Get what a browser needs to sign with a passkey, to show again who you are */
  beginMyVerification: { body?: NoFields; answer: PasskeyChallenge };
  /** Get a user */
  getUser: {
    path: {
      id: string;
    };
    answer: User;
  };
  /** Update, disable or enable a user, or reset the password */
  updateUser: {
    path: {
      id: string;
    };
    body?: UpdateUserRequest;
    answer: User;
  };
  /** List a user's machine clients, oldest first */
  listUserClients: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: Client[];
  };
  /** Delete a user's machine client; its tokens stop working immediately */
  deleteUserClient: {
    path: {
      id: string;
      client_id: string;
    };
    answer: undefined;
  };
  /** Erase a user's personal data */
  eraseUser: {
    path: {
      id: string;
    };
    body?: ErasureRequest;
    answer: Erasure;
  };
  /** Get the report of the erasure of a user's data */
  getErasure: {
    path: {
      id: string;
    };
    answer: Erasure;
  };
  /** Try again to remove the histories that Temporal has refused to remove */
  retryErasure: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: Erasure;
  };
  /** List a user's identities at external issuers, oldest first */
  listUserIdentities: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: UserIdentity[];
  };
  /** Link an identity to a user by its subject */
  linkUserIdentity: {
    path: {
      id: string;
    };
    body: LinkUserIdentityRequest;
    answer: UserIdentity;
  };
  /** Unlink a user's identity; the sessions that it opened end */
  unlinkUserIdentity: {
    path: {
      id: string;
      identity_id: string;
    };
    answer: undefined;
  };
  /** Invite the person of an account without a password to choose one, or invite again */
  sendInvitation: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: Invitation;
  };
  /** Take an invitation back; its link stops working immediately */
  withdrawInvitation: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** Get what is stored about a user */
  getPersonalData: {
    path: {
      id: string;
    };
    answer: Blob;
  };
  /** Remove a user's second factors, who has lost them */
  resetUserSecondFactor: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** List a user's sessions, oldest first */
  listUserSessions: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: Session[];
  };
  /** End all sessions of a user */
  deleteUserSessions: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** End a session of a user */
  deleteUserSession: {
    path: {
      id: string;
      session_id: string;
    };
    answer: undefined;
  };
  /** List a user's personal access tokens, oldest first */
  listUserTokens: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
    };
    answer: AccessToken[];
  };
  /** Delete a user's personal access token; it stops working immediately */
  deleteUserToken: {
    path: {
      id: string;
      token_id: string;
    };
    answer: undefined;
  };
  /** Get how far the last transfer of a user's property has come */
  getTransfer: {
    path: {
      id: string;
    };
    answer: Transfer;
  };
  /** Transfer a user's property to another user */
  transferUser: {
    path: {
      id: string;
    };
    body: TransferUserRequest;
    answer: Transfer;
  };
  /** List the caller's webhooks and those of their teams, newest first; admins see all */
  listWebhooks: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /** Id of a user, or `me`. */
      owner_id?: string | undefined;
      team_id?: string | undefined;
      active?: boolean | undefined;
    };
    answer: Webhook[];
  };
  /** Subscribe a URL to the events that the caller may see */
  createWebhook: { body: CreateWebhookRequest; answer: NewWebhook };
  /** Get a webhook */
  getWebhook: {
    path: {
      id: string;
    };
    answer: Webhook;
  };
  /** Update a webhook */
  updateWebhook: {
    path: {
      id: string;
    };
    body?: UpdateWebhookRequest;
    answer: Webhook;
  };
  /** Delete a webhook and its delivery log */
  deleteWebhook: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /** List a webhook's deliveries, newest first */
  listWebhookDeliveries: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      status?: 'pending' | 'delivered' | 'failed' | undefined;
      run_id?: string | undefined;
    };
    answer: Delivery[];
  };
  /** Get a delivery with its body */
  getWebhookDelivery: {
    path: {
      id: string;
      delivery_id: string;
    };
    answer: DeliveryDetail;
  };
  /** Redeliver one delivery */
  redeliverWebhookDelivery: {
    path: {
      id: string;
      delivery_id: string;
    };
    body?: NoFields;
    answer: Delivery;
  };
  /** Redeliver failed deliveries */
  redeliverFailedWebhookDeliveries: {
    path: {
      id: string;
    };
    body?: RedeliverFailedWebhookDeliveriesRequest;
    answer: RedeliverFailedWebhookDeliveriesResponse;
  };
  /** Give a webhook a new secret, and sign with the former one too for a while */
  rotateWebhookSecret: {
    path: {
      id: string;
    };
    body?: RotateWebhookSecretRequest;
    answer: NewWebhook;
  };
  /** Send a test event */
  testWebhook: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: Delivery;
  };
  /** List own and public workflows, newest first */
  listWorkflows: {
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /**
       * `summary` omits fields larger than 1 KiB, `full` those larger than 16 KiB. `omitted` of
       * each record names them.
       */
      view?: 'full' | 'summary' | undefined;
      /** Text in the name or description. */
      q?: string | undefined;
      tag?: string | undefined;
      visibility?: 'private' | 'public' | undefined;
      /** Id of a user, or `me`. */
      owner_id?: string | undefined;
      team_id?: string | undefined;
      valid?: boolean | undefined;
    };
    answer: ListedWorkflow[];
  };
  /** Create a workflow; an invalid definition is saved as a draft with its problems */
  createWorkflow: { body: CreateWorkflowRequest; answer: Workflow };
  /** Validate a definition without saving it */
  validateWorkflow: { body: ValidateWorkflowRequest; answer: DefinitionValidation };
  /** Get a workflow with its current definition */
  getWorkflow: {
    path: {
      id: string;
    };
    answer: Workflow;
  };
  /** Update a workflow; changing the definition creates a revision */
  updateWorkflow: {
    path: {
      id: string;
    };
    body?: UpdateWorkflowRequest;
    answer: Workflow;
  };
  /** Archive a workflow; its runs are kept */
  deleteWorkflow: {
    path: {
      id: string;
    };
    answer: undefined;
  };
  /**
   * Get the definition as YAML: as its author has written it, with comments, if it came as
   * text
   */
  getWorkflowText: {
    path: {
      id: string;
    };
    query?: {
      /** Default: current. */
      revision?: number | undefined;
    };
    answer: string;
  };
  /** Get a diagram of the current definition, as Mermaid or (by `Accept`) SVG */
  getWorkflowDiagram: {
    path: {
      id: string;
    };
    answer: string;
  };
  /** Get the users whose events reach the workflow */
  getEventSenders: {
    path: {
      id: string;
    };
    answer: EventSenders;
  };
  /** Say whose events reach the workflow and the runs that its owner has of it */
  setEventSenders: {
    path: {
      id: string;
    };
    body: SetEventSendersRequest;
    answer: EventSenders;
  };
  /** Run a workflow (alias) */
  executeWorkflow: {
    path: {
      id: string;
    };
    body?: ExecuteWorkflowRequest;
    answer: Run;
  };
  /** List a workflow's revisions, newest first */
  listWorkflowRevisions: {
    path: {
      id: string;
    };
    query?: {
      /** Records per page. */
      limit?: number | undefined;
      /** Opaque value from the previous page's `Link` header. */
      cursor?: string | undefined;
      /**
       * `summary` omits fields larger than 1 KiB, `full` those larger than 16 KiB. `omitted` of
       * each record names them.
       */
      view?: 'full' | 'summary' | undefined;
    };
    answer: ListedWorkflowRevision[];
  };
  /** Get one revision of a workflow */
  getWorkflowRevision: {
    path: {
      id: string;
      revision: number;
    };
    answer: WorkflowRevision;
  };
  /** Run a workflow */
  runWorkflow: {
    path: {
      id: string;
    };
    body?: RunWorkflowRequest;
    answer: Run;
  };
  /** Get a workflow's schedule with its last and next times */
  getSchedule: {
    path: {
      id: string;
    };
    answer: Schedule;
  };
  /** Pause or resume a schedule, or change how it starts runs */
  updateSchedule: {
    path: {
      id: string;
    };
    body?: UpdateScheduleRequest;
    answer: Schedule;
  };
  /** Start the runs of past times */
  backfillSchedule: {
    path: {
      id: string;
    };
    body: BackfillScheduleRequest;
    answer: BackfilledStart[];
  };
  /** Start a run of the schedule now, also while it is paused */
  triggerSchedule: {
    path: {
      id: string;
    };
    body?: NoFields;
    answer: Run;
  };
}
/**
 * What a request needs besides its options; `role` is the least role that may call the operation,
 * `other` says that it may answer with something else than JSON.
 */
export const OPERATIONS = {
  getRoot: { method: 'GET', path: '/', role: 'public' },
  getJwks: { method: 'GET', path: '/.well-known/jwks.json', role: 'public' },
  getAuthorizationServerMetadata: {
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    role: 'public',
  },
  getProtectedResourceMetadata: {
    method: 'GET',
    path: '/.well-known/oauth-protected-resource',
    role: 'public',
  },
  getMcpResourceMetadata: {
    method: 'GET',
    path: '/.well-known/oauth-protected-resource/mcp',
    role: 'public',
  },
  getOpenIdConfiguration: { method: 'GET', path: '/.well-known/openid-configuration', role: 'public' },
  listAbsences: { method: 'GET', path: '/absences', role: 'viewer' },
  createAbsence: { method: 'POST', path: '/absences', role: 'approver' },
  endAbsence: { method: 'DELETE', path: '/absences/{id}', role: 'approver' },
  listAgents: { method: 'GET', path: '/agents', role: 'viewer' },
  createAgent: { method: 'POST', path: '/agents', role: 'builder' },
  importAgents: { method: 'POST', path: '/agents/import', role: 'builder' },
  getAgentCard: { method: 'GET', path: '/agents/{agent_id}/.well-known/agent.json', role: 'viewer' },
  getAgent: { method: 'GET', path: '/agents/{id}', role: 'viewer' },
  updateAgent: { method: 'PATCH', path: '/agents/{id}', role: 'builder' },
  deleteAgent: { method: 'DELETE', path: '/agents/{id}', role: 'builder' },
  setAgentCanary: { method: 'PUT', path: '/agents/{id}/canary', role: 'builder' },
  deleteAgentCanary: { method: 'DELETE', path: '/agents/{id}/canary', role: 'builder' },
  checkAgent: { method: 'POST', path: '/agents/{id}/check', role: 'builder' },
  closeAgentCircuit: { method: 'POST', path: '/agents/{id}/circuit/close', role: 'builder' },
  evaluateAgent: { method: 'POST', path: '/agents/{id}/evaluate', role: 'builder' },
  listEvaluations: { method: 'GET', path: '/agents/{id}/evaluations', role: 'builder' },
  invokeAgent: { method: 'POST', path: '/agents/{id}/invoke', role: 'builder' },
  listJobs: { method: 'GET', path: '/agents/{id}/jobs', role: 'builder' },
  pollJobs: { method: 'POST', path: '/agents/{id}/jobs/poll', role: 'builder' },
  getJobQueue: { method: 'GET', path: '/agents/{id}/queue', role: 'builder' },
  refreshAgent: { method: 'POST', path: '/agents/{id}/refresh', role: 'builder' },
  listAgentRuns: { method: 'GET', path: '/agents/{id}/runs', role: 'viewer' },
  listAgentSessions: { method: 'GET', path: '/agents/{id}/sessions', role: 'viewer' },
  getAgentSession: { method: 'GET', path: '/agents/{id}/sessions/{session}', role: 'viewer' },
  deleteAgentSession: { method: 'DELETE', path: '/agents/{id}/sessions/{session}', role: 'viewer' },
  listAgentSkills: { method: 'GET', path: '/agents/{id}/skills', role: 'viewer' },
  createAgentSkill: { method: 'POST', path: '/agents/{id}/skills', role: 'builder' },
  updateAgentSkill: { method: 'PATCH', path: '/agents/{id}/skills/{skill_id}', role: 'builder' },
  deleteAgentSkill: { method: 'DELETE', path: '/agents/{id}/skills/{skill_id}', role: 'builder' },
  getAgentStats: { method: 'GET', path: '/agents/{id}/stats', role: 'builder' },
  listAgentVersions: { method: 'GET', path: '/agents/{id}/versions', role: 'viewer' },
  createAgentVersion: { method: 'POST', path: '/agents/{id}/versions', role: 'builder' },
  getAgentVersion: { method: 'GET', path: '/agents/{id}/versions/{version}', role: 'viewer' },
  updateAgentVersion: { method: 'PATCH', path: '/agents/{id}/versions/{version}', role: 'builder' },
  deprecateAgentVersion: {
    method: 'POST',
    path: '/agents/{id}/versions/{version}/deprecate',
    role: 'builder',
  },
  publishAgentVersion: { method: 'POST', path: '/agents/{id}/versions/{version}/publish', role: 'builder' },
  listWorkerTokens: { method: 'GET', path: '/agents/{id}/worker-tokens', role: 'builder' },
  createWorkerToken: { method: 'POST', path: '/agents/{id}/worker-tokens', role: 'builder' },
  deleteWorkerToken: { method: 'DELETE', path: '/agents/{id}/worker-tokens/{token_id}', role: 'builder' },
  applySet: { method: 'POST', path: '/apply', role: 'builder' },
  listAppliedResources: { method: 'GET', path: '/apply', role: 'viewer' },
  listAudit: { method: 'GET', path: '/audit', role: 'viewer' },
  exportAudit: { method: 'GET', path: '/audit/export', role: 'viewer', other: true },
  verifyAudit: { method: 'GET', path: '/audit/verification', role: 'admin' },
  authorize: { method: 'GET', path: '/auth/authorize', role: 'public', other: true },
  decideAuthorization: { method: 'POST', path: '/auth/authorize', role: 'public', other: true },
  listRegisteredClients: { method: 'GET', path: '/auth/clients', role: 'admin' },
  deleteRegisteredClient: { method: 'DELETE', path: '/auth/clients/{id}', role: 'admin' },
  createDeviceCode: { method: 'POST', path: '/auth/device', role: 'public' },
  getDeviceRequest: { method: 'GET', path: '/auth/device', role: 'viewer' },
  decideDeviceRequest: { method: 'POST', path: '/auth/device/decision', role: 'viewer' },
  listLogInChoices: { method: 'GET', path: '/auth/issuers', role: 'public' },
  beginPasskeyLogIn: { method: 'POST', path: '/auth/passkey', role: 'public' },
  choosePassword: { method: 'POST', path: '/auth/password', role: 'public' },
  readPasswordLink: { method: 'POST', path: '/auth/password-link', role: 'public' },
  requestPasswordLink: { method: 'POST', path: '/auth/password-requests', role: 'public' },
  registerClient: { method: 'POST', path: '/auth/register', role: 'public' },
  revokeToken: { method: 'POST', path: '/auth/revoke', role: 'viewer' },
  beginIssuerLogIn: { method: 'GET', path: '/auth/sso/{name}', role: 'public', other: true },
  completeIssuerLogIn: { method: 'GET', path: '/auth/sso/{name}/callback', role: 'public', other: true },
  endSessionsByIssuer: { method: 'POST', path: '/auth/sso/{name}/logout', role: 'public' },
  createToken: { method: 'POST', path: '/auth/token', role: 'public' },
  getUserInfo: { method: 'GET', path: '/auth/userinfo', role: 'viewer' },
  postUserInfo: { method: 'POST', path: '/auth/userinfo', role: 'viewer' },
  getLatestBackups: { method: 'GET', path: '/backups/latest', role: 'admin' },
  listBudgets: { method: 'GET', path: '/budgets', role: 'viewer' },
  getBudget: { method: 'GET', path: '/budgets/{id}', role: 'viewer' },
  raiseBudget: { method: 'POST', path: '/budgets/{id}/raise', role: 'builder' },
  getCallback: { method: 'GET', path: '/callbacks/{token}', role: 'public' },
  receiveCallback: { method: 'POST', path: '/callbacks/{token}', role: 'public' },
  getDefaultCatalog: { method: 'GET', path: '/catalogs/default', role: 'public' },
  createSession: { method: 'POST', path: '/console/session', role: 'public' },
  getSession: { method: 'GET', path: '/console/session', role: 'viewer' },
  deleteSession: { method: 'DELETE', path: '/console/session', role: 'viewer' },
  listConversations: { method: 'GET', path: '/conversations', role: 'viewer' },
  showDecisionLink: { method: 'GET', path: '/decide/{token}', role: 'public', other: true },
  decideByLink: { method: 'POST', path: '/decide/{token}', role: 'public', other: true },
  getAgentDocumentation: { method: 'GET', path: '/docs/agents/{id}', role: 'viewer', other: true },
  getEvaluation: { method: 'GET', path: '/evaluations/{id}', role: 'builder' },
  deleteEvaluation: { method: 'DELETE', path: '/evaluations/{id}', role: 'builder' },
  listEvaluationCases: { method: 'GET', path: '/evaluations/{id}/cases', role: 'builder' },
  retryEvaluation: { method: 'POST', path: '/evaluations/{id}/retry', role: 'builder' },
  listEventSources: { method: 'GET', path: '/event-sources', role: 'viewer' },
  createEventSource: { method: 'POST', path: '/event-sources', role: 'builder' },
  getEventSource: { method: 'GET', path: '/event-sources/{id}', role: 'viewer' },
  updateEventSource: { method: 'PATCH', path: '/event-sources/{id}', role: 'builder' },
  deleteEventSource: { method: 'DELETE', path: '/event-sources/{id}', role: 'builder' },
  streamEvents: { method: 'GET', path: '/events', role: 'viewer', other: true },
  publishEvent: { method: 'POST', path: '/events', role: 'builder', sent: 'application/cloudevents+json' },
  listReceivedEvents: { method: 'GET', path: '/events/received', role: 'viewer' },
  getReceivedEvent: { method: 'GET', path: '/events/received/{id}', role: 'viewer' },
  uploadFile: { method: 'POST', path: '/files', role: 'viewer' },
  listFiles: { method: 'GET', path: '/files', role: 'viewer' },
  downloadFile: { method: 'GET', path: '/files/{id}', role: 'viewer', other: true },
  updateFile: { method: 'PATCH', path: '/files/{id}', role: 'viewer' },
  deleteFile: { method: 'DELETE', path: '/files/{id}', role: 'viewer' },
  createFileLink: { method: 'POST', path: '/files/{id}/link', role: 'viewer' },
  getFile: { method: 'GET', path: '/files/{id}/metadata', role: 'viewer' },
  getHealth: { method: 'GET', path: '/healthz', role: 'public' },
  decideHumanTasks: { method: 'POST', path: '/hitl/decisions', role: 'approver' },
  getHumanTaskSummary: { method: 'GET', path: '/hitl/summary', role: 'viewer' },
  listHumanTasks: { method: 'GET', path: '/hitl/tasks', role: 'viewer' },
  getHumanTask: { method: 'GET', path: '/hitl/tasks/{id}', role: 'viewer' },
  listHumanTaskAudit: { method: 'GET', path: '/hitl/tasks/{id}/audit', role: 'viewer' },
  claimHumanTask: { method: 'POST', path: '/hitl/tasks/{id}/claim', role: 'approver' },
  commentHumanTask: { method: 'POST', path: '/hitl/tasks/{id}/comments', role: 'viewer' },
  decideHumanTask: { method: 'POST', path: '/hitl/tasks/{id}/decision', role: 'approver' },
  delegateHumanTask: { method: 'POST', path: '/hitl/tasks/{id}/delegate', role: 'approver' },
  releaseHumanTask: { method: 'POST', path: '/hitl/tasks/{id}/release', role: 'approver' },
  listHooks: { method: 'GET', path: '/hooks', role: 'viewer' },
  createHook: { method: 'POST', path: '/hooks', role: 'builder' },
  getHook: { method: 'GET', path: '/hooks/{id}', role: 'viewer' },
  updateHook: { method: 'PATCH', path: '/hooks/{id}', role: 'builder' },
  deleteHook: { method: 'DELETE', path: '/hooks/{id}', role: 'builder' },
  receiveHook: { method: 'POST', path: '/hooks/{id}', role: 'public', other: true },
  listIssuers: { method: 'GET', path: '/identity-issuers', role: 'admin' },
  createIssuer: { method: 'POST', path: '/identity-issuers', role: 'admin' },
  getIssuer: { method: 'GET', path: '/identity-issuers/{id}', role: 'admin' },
  updateIssuer: { method: 'PATCH', path: '/identity-issuers/{id}', role: 'admin' },
  deleteIssuer: { method: 'DELETE', path: '/identity-issuers/{id}', role: 'admin' },
  checkIssuer: { method: 'POST', path: '/identity-issuers/{id}/check', role: 'admin' },
  listMachines: { method: 'GET', path: '/identity-issuers/{id}/machines', role: 'admin' },
  createMachine: { method: 'POST', path: '/identity-issuers/{id}/machines', role: 'admin' },
  deleteMachine: { method: 'DELETE', path: '/identity-issuers/{id}/machines/{machine_id}', role: 'admin' },
  listScimTokens: { method: 'GET', path: '/identity-issuers/{id}/scim-tokens', role: 'admin' },
  createScimToken: { method: 'POST', path: '/identity-issuers/{id}/scim-tokens', role: 'admin' },
  deleteScimToken: { method: 'DELETE', path: '/identity-issuers/{id}/scim-tokens/{token_id}', role: 'admin' },
  completeJob: { method: 'POST', path: '/jobs/{id}/complete', role: 'builder' },
  failJob: { method: 'POST', path: '/jobs/{id}/fail', role: 'builder' },
  uploadJobFile: { method: 'POST', path: '/jobs/{id}/files', role: 'builder' },
  downloadJobFile: { method: 'GET', path: '/jobs/{id}/files/{file_id}', role: 'builder', other: true },
  heartbeatJob: { method: 'POST', path: '/jobs/{id}/heartbeat', role: 'builder' },
  listMarketplaceItems: { method: 'GET', path: '/marketplace/items', role: 'viewer' },
  submitMarketplaceItem: { method: 'POST', path: '/marketplace/items', role: 'builder' },
  getMarketplaceItem: { method: 'GET', path: '/marketplace/items/{id}', role: 'viewer' },
  withdrawMarketplaceItem: { method: 'DELETE', path: '/marketplace/items/{id}', role: 'builder' },
  approveMarketplaceItem: { method: 'POST', path: '/marketplace/items/{id}/approve', role: 'admin' },
  planMarketplaceInstall: { method: 'GET', path: '/marketplace/items/{id}/install', role: 'builder' },
  installMarketplaceItem: { method: 'POST', path: '/marketplace/items/{id}/install', role: 'builder' },
  rejectMarketplaceItem: { method: 'POST', path: '/marketplace/items/{id}/reject', role: 'admin' },
  listMarketplaceReviews: { method: 'GET', path: '/marketplace/items/{id}/reviews', role: 'viewer' },
  reviewMarketplaceItem: { method: 'POST', path: '/marketplace/items/{id}/reviews', role: 'viewer' },
  getMarketplaceVersion: {
    method: 'GET',
    path: '/marketplace/items/{id}/versions/{version}',
    role: 'viewer',
  },
  getMetrics: { method: 'GET', path: '/metrics', role: 'admin', other: true },
  listNotifications: { method: 'GET', path: '/notifications', role: 'viewer' },
  listNotificationChannels: { method: 'GET', path: '/notifications/channels', role: 'viewer' },
  createNotificationChannel: { method: 'POST', path: '/notifications/channels', role: 'approver' },
  updateNotificationChannel: { method: 'PATCH', path: '/notifications/channels/{id}', role: 'approver' },
  deleteNotificationChannel: { method: 'DELETE', path: '/notifications/channels/{id}', role: 'approver' },
  testNotificationChannel: { method: 'POST', path: '/notifications/channels/{id}/test', role: 'approver' },
  markNotificationsRead: { method: 'POST', path: '/notifications/read', role: 'viewer' },
  getNotificationSettings: { method: 'GET', path: '/notifications/settings', role: 'viewer' },
  putNotificationSettings: { method: 'PUT', path: '/notifications/settings', role: 'viewer' },
  streamNotifications: { method: 'GET', path: '/notifications/stream', role: 'viewer', other: true },
  getNotificationSummary: { method: 'GET', path: '/notifications/summary', role: 'viewer' },
  sendTestMail: { method: 'POST', path: '/notifications/test-mail', role: 'admin' },
  showUnsubscribe: { method: 'GET', path: '/notifications/unsubscribe/{token}', role: 'public', other: true },
  unsubscribe: { method: 'POST', path: '/notifications/unsubscribe/{token}', role: 'public', other: true },
  getOpenApi: { method: 'GET', path: '/openapi.json', role: 'public' },
  listPrices: { method: 'GET', path: '/prices', role: 'viewer' },
  createPrice: { method: 'POST', path: '/prices', role: 'admin' },
  getPrice: { method: 'GET', path: '/prices/{id}', role: 'viewer' },
  replacePrice: { method: 'PUT', path: '/prices/{id}', role: 'admin' },
  deletePrice: { method: 'DELETE', path: '/prices/{id}', role: 'admin' },
  getReadiness: { method: 'GET', path: '/readyz', role: 'public' },
  listRuns: { method: 'GET', path: '/runs', role: 'viewer' },
  actOnRuns: { method: 'POST', path: '/runs/actions', role: 'builder' },
  getRunStats: { method: 'GET', path: '/runs/stats', role: 'viewer' },
  getRun: { method: 'GET', path: '/runs/{id}', role: 'viewer' },
  cancelRun: { method: 'POST', path: '/runs/{id}/cancel', role: 'viewer' },
  getRunDiagram: { method: 'GET', path: '/runs/{id}/diagram', role: 'viewer', other: true },
  streamRunEvents: { method: 'GET', path: '/runs/{id}/events', role: 'viewer', other: true },
  listRunLogs: { method: 'GET', path: '/runs/{id}/logs', role: 'viewer' },
  resumeRun: { method: 'POST', path: '/runs/{id}/resume', role: 'builder' },
  retryRun: { method: 'POST', path: '/runs/{id}/retry', role: 'builder' },
  suspendRun: { method: 'POST', path: '/runs/{id}/suspend', role: 'builder' },
  listRunTasks: { method: 'GET', path: '/runs/{id}/tasks', role: 'viewer' },
  listRunTaskGroups: { method: 'GET', path: '/runs/{id}/tasks/groups', role: 'viewer' },
  getRunTask: { method: 'GET', path: '/runs/{id}/tasks/{reference}', role: 'viewer' },
  terminateRun: { method: 'POST', path: '/runs/{id}/terminate', role: 'admin' },
  getWorkflowSchema: { method: 'GET', path: '/schemas/workflow.json', role: 'viewer' },
  listSecrets: { method: 'GET', path: '/secrets', role: 'viewer' },
  getSecret: { method: 'GET', path: '/secrets/{name}', role: 'viewer' },
  putSecret: { method: 'PUT', path: '/secrets/{name}', role: 'builder' },
  deleteSecret: { method: 'DELETE', path: '/secrets/{name}', role: 'builder' },
  listStartableWorkflows: { method: 'GET', path: '/startable-workflows', role: 'viewer' },
  getStartableWorkflow: { method: 'GET', path: '/startable-workflows/{id}', role: 'viewer' },
  listTeams: { method: 'GET', path: '/teams', role: 'viewer' },
  createTeam: { method: 'POST', path: '/teams', role: 'admin' },
  getTeam: { method: 'GET', path: '/teams/{id}', role: 'viewer' },
  updateTeam: { method: 'PATCH', path: '/teams/{id}', role: 'viewer' },
  deleteTeam: { method: 'DELETE', path: '/teams/{id}', role: 'viewer' },
  listTeamGroups: { method: 'GET', path: '/teams/{id}/groups', role: 'viewer' },
  putTeamGroup: { method: 'PUT', path: '/teams/{id}/groups/{group}', role: 'viewer' },
  removeTeamGroup: { method: 'DELETE', path: '/teams/{id}/groups/{group}', role: 'viewer' },
  listTeamMembers: { method: 'GET', path: '/teams/{id}/members', role: 'viewer' },
  putTeamMember: { method: 'PUT', path: '/teams/{id}/members/{user_id}', role: 'viewer' },
  removeTeamMember: { method: 'DELETE', path: '/teams/{id}/members/{user_id}', role: 'viewer' },
  decodePayloads: { method: 'POST', path: '/temporal-codec/decode', role: 'admin' },
  decodeTemporalPayloads: { method: 'POST', path: '/temporal-codec/{capability}/decode', role: 'public' },
  listUsage: { method: 'GET', path: '/usage', role: 'viewer' },
  exportUsage: { method: 'GET', path: '/usage/csv', role: 'viewer', other: true },
  getUsageLimits: { method: 'GET', path: '/usage/limits', role: 'viewer' },
  listUsers: { method: 'GET', path: '/users', role: 'admin' },
  createUser: { method: 'POST', path: '/users', role: 'admin' },
  listPeople: { method: 'GET', path: '/users/directory', role: 'viewer' },
  getMe: { method: 'GET', path: '/users/me', role: 'viewer' },
  listMyClients: { method: 'GET', path: '/users/me/clients', role: 'viewer' },
  createMyClient: { method: 'POST', path: '/users/me/clients', role: 'viewer' },
  deleteMyClient: { method: 'DELETE', path: '/users/me/clients/{id}', role: 'viewer' },
  listMyIdentities: { method: 'GET', path: '/users/me/identities', role: 'viewer' },
  linkMyIdentity: { method: 'POST', path: '/users/me/identities', role: 'viewer' },
  unlinkMyIdentity: { method: 'DELETE', path: '/users/me/identities/{id}', role: 'viewer' },
  createMyPasskey: { method: 'POST', path: '/users/me/passkeys', role: 'viewer' },
  beginMyPasskey: { method: 'POST', path: '/users/me/passkeys/options', role: 'viewer' },
  deleteMyPasskey: { method: 'DELETE', path: '/users/me/passkeys/{id}', role: 'viewer' },
  deleteMyPassword: { method: 'DELETE', path: '/users/me/password', role: 'viewer' },
  changeMyPassword: { method: 'POST', path: '/users/me/password', role: 'viewer' },
  getMyPersonalData: { method: 'GET', path: '/users/me/personal-data', role: 'viewer', other: true },
  getMyPreferences: { method: 'GET', path: '/users/me/preferences', role: 'viewer' },
  putMyPreferences: { method: 'PUT', path: '/users/me/preferences', role: 'viewer' },
  renewMyRecoveryCodes: { method: 'POST', path: '/users/me/recovery-codes', role: 'viewer' },
  getMySecondFactors: { method: 'GET', path: '/users/me/second-factor', role: 'viewer' },
  listMySessions: { method: 'GET', path: '/users/me/sessions', role: 'viewer' },
  deleteMyOtherSessions: { method: 'DELETE', path: '/users/me/sessions', role: 'viewer' },
  deleteMySession: { method: 'DELETE', path: '/users/me/sessions/{id}', role: 'viewer' },
  listMyTokens: { method: 'GET', path: '/users/me/tokens', role: 'viewer' },
  createMyToken: { method: 'POST', path: '/users/me/tokens', role: 'viewer' },
  deleteMyToken: { method: 'DELETE', path: '/users/me/tokens/{id}', role: 'viewer' },
  beginMyTotp: { method: 'POST', path: '/users/me/totp', role: 'viewer' },
  deleteMyTotp: { method: 'DELETE', path: '/users/me/totp', role: 'viewer' },
  confirmMyTotp: { method: 'POST', path: '/users/me/totp/confirm', role: 'viewer' },
  verifyMe: { method: 'POST', path: '/users/me/verify', role: 'viewer' },
  beginMyVerification: { method: 'POST', path: '/users/me/verify/options', role: 'viewer' },
  getUser: { method: 'GET', path: '/users/{id}', role: 'admin' },
  updateUser: { method: 'PATCH', path: '/users/{id}', role: 'admin' },
  listUserClients: { method: 'GET', path: '/users/{id}/clients', role: 'admin' },
  deleteUserClient: { method: 'DELETE', path: '/users/{id}/clients/{client_id}', role: 'admin' },
  eraseUser: { method: 'POST', path: '/users/{id}/erase', role: 'admin' },
  getErasure: { method: 'GET', path: '/users/{id}/erasure', role: 'admin' },
  retryErasure: { method: 'POST', path: '/users/{id}/erasure/retry', role: 'admin' },
  listUserIdentities: { method: 'GET', path: '/users/{id}/identities', role: 'admin' },
  linkUserIdentity: { method: 'POST', path: '/users/{id}/identities', role: 'admin' },
  unlinkUserIdentity: { method: 'DELETE', path: '/users/{id}/identities/{identity_id}', role: 'admin' },
  sendInvitation: { method: 'POST', path: '/users/{id}/invitation', role: 'admin' },
  withdrawInvitation: { method: 'DELETE', path: '/users/{id}/invitation', role: 'admin' },
  getPersonalData: { method: 'GET', path: '/users/{id}/personal-data', role: 'admin', other: true },
  resetUserSecondFactor: { method: 'DELETE', path: '/users/{id}/second-factor', role: 'admin' },
  listUserSessions: { method: 'GET', path: '/users/{id}/sessions', role: 'admin' },
  deleteUserSessions: { method: 'DELETE', path: '/users/{id}/sessions', role: 'admin' },
  deleteUserSession: { method: 'DELETE', path: '/users/{id}/sessions/{session_id}', role: 'admin' },
  listUserTokens: { method: 'GET', path: '/users/{id}/tokens', role: 'admin' },
  deleteUserToken: { method: 'DELETE', path: '/users/{id}/tokens/{token_id}', role: 'admin' },
  getTransfer: { method: 'GET', path: '/users/{id}/transfer', role: 'admin' },
  transferUser: { method: 'POST', path: '/users/{id}/transfer', role: 'admin' },
  listWebhooks: { method: 'GET', path: '/webhooks', role: 'viewer' },
  createWebhook: { method: 'POST', path: '/webhooks', role: 'approver' },
  getWebhook: { method: 'GET', path: '/webhooks/{id}', role: 'viewer' },
  updateWebhook: { method: 'PATCH', path: '/webhooks/{id}', role: 'approver' },
  deleteWebhook: { method: 'DELETE', path: '/webhooks/{id}', role: 'approver' },
  listWebhookDeliveries: { method: 'GET', path: '/webhooks/{id}/deliveries', role: 'viewer' },
  getWebhookDelivery: { method: 'GET', path: '/webhooks/{id}/deliveries/{delivery_id}', role: 'viewer' },
  redeliverWebhookDelivery: {
    method: 'POST',
    path: '/webhooks/{id}/deliveries/{delivery_id}/redeliver',
    role: 'approver',
  },
  redeliverFailedWebhookDeliveries: { method: 'POST', path: '/webhooks/{id}/redeliver', role: 'approver' },
  rotateWebhookSecret: { method: 'POST', path: '/webhooks/{id}/rotate-secret', role: 'approver' },
  testWebhook: { method: 'POST', path: '/webhooks/{id}/test', role: 'approver' },
  listWorkflows: { method: 'GET', path: '/workflows', role: 'viewer' },
  createWorkflow: { method: 'POST', path: '/workflows', role: 'builder' },
  validateWorkflow: { method: 'POST', path: '/workflows/validate', role: 'viewer' },
  getWorkflow: { method: 'GET', path: '/workflows/{id}', role: 'viewer' },
  updateWorkflow: { method: 'PATCH', path: '/workflows/{id}', role: 'builder' },
  deleteWorkflow: { method: 'DELETE', path: '/workflows/{id}', role: 'builder' },
  getWorkflowText: { method: 'GET', path: '/workflows/{id}/definition', role: 'viewer', other: true },
  getWorkflowDiagram: { method: 'GET', path: '/workflows/{id}/diagram', role: 'viewer', other: true },
  getEventSenders: { method: 'GET', path: '/workflows/{id}/event-senders', role: 'viewer' },
  setEventSenders: { method: 'PATCH', path: '/workflows/{id}/event-senders', role: 'builder' },
  executeWorkflow: { method: 'POST', path: '/workflows/{id}/execute', role: 'viewer' },
  listWorkflowRevisions: { method: 'GET', path: '/workflows/{id}/revisions', role: 'viewer' },
  getWorkflowRevision: { method: 'GET', path: '/workflows/{id}/revisions/{revision}', role: 'viewer' },
  runWorkflow: { method: 'POST', path: '/workflows/{id}/run', role: 'viewer' },
  getSchedule: { method: 'GET', path: '/workflows/{id}/schedule', role: 'viewer' },
  updateSchedule: { method: 'PATCH', path: '/workflows/{id}/schedule', role: 'builder' },
  backfillSchedule: { method: 'POST', path: '/workflows/{id}/schedule/backfill', role: 'builder' },
  triggerSchedule: { method: 'POST', path: '/workflows/{id}/schedule/trigger', role: 'builder' },
} as const;
