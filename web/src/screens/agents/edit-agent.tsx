/** Registers an agent or changes one: by a form for its kind, or as JSON. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { ApiError, type Agent, type CreateAgentRequest } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { ListLink, RecordPath } from '../../app/record-path.tsx';
import { navigate, query, setQuery } from '../../app/router.ts';
import { agentAddress, agentsAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { mayCallForAny, teamToBuildFor } from '../../data/teams.ts';
import { patchOf } from '../../ui/form-sections.ts';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordSkeleton } from '../../ui/record-skeleton.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import { Refused } from '../../ui/refused.tsx';
import { isCheckLoaded, loadCheck } from '../../ui/schema-form/form-check.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { useTitle } from '../../ui/title.ts';
import { TeamField } from '../../ui/team-choice.tsx';
import { tell } from '../../ui/toasts.tsx';
import { refreshAgent, useAgent } from './agent-data.ts';
import {
  agentSections,
  HAS_PROVIDER,
  STANDARD_PROVIDER,
  type Authentication,
  type Kind,
} from './agent-fields.ts';
import css from './agents.module.css';
import { words } from './words.ts';

type Body = Record<string, unknown>;
type Mode = 'form' | 'json';
const MODES = [
  { id: 'form' as Mode, label: words.asForm },
  { id: 'json' as Mode, label: words.asJson },
];

export function NewAgent() {
  useTitle(words.newTitle);
  return (
    <div class={page['page']}>
      <p class={page['path']}>
        <ListLink list="agents" /> / {words.newTitle}
      </p>
      <h1>{words.newTitle}</h1>
      {mayCallForAny('createAgent') ? <AgentForm agent={null} /> : <Refused operation="createAgent" />}
    </div>
  );
}

export function EditAgent({ id }: { id: string }) {
  const { data: agent, error, refetch } = useAgent(id);
  const title = words.editTitle(agent?.name ?? '');
  useTitle(title);
  return (
    <div class={page['page']}>
      <RecordPath list="agents" id={id}>
        <a href={agentAddress(id)}>{agent?.name ?? words.title}</a>
      </RecordPath>
      <h1>{title}</h1>
      {agent?.can.includes('update') === true && <AgentForm key={agent.updated_at} agent={agent} />}
      {agent?.can.includes('update') === false && <p class="muted">{words.cannotEdit}</p>}
      {agent === undefined && error === null && <RecordSkeleton />}
      {agent === undefined && error !== null && <ProblemText error={error} retry={() => void refetch()} />}
    </div>
  );
}

/** For which team a new agent is; '' for the user. */
function newHolder(): string {
  return teamToBuildFor('createAgent', query.value['team']);
}

async function save(agent: Agent | null, body: Body): Promise<void> {
  if (agent === null) {
    // The server checks the body; its problems are shown at the fields.
    const team = newHolder();
    const held = team === '' ? body : { team_id: team, ...body };
    const made = await client.call('createAgent', { body: held as CreateAgentRequest });
    tell(words.registered(made.name));
    navigate(agentAddress(made.id));
    return;
  }
  const patch = patchOf(body, { ...agent });
  if (Object.keys(patch).length === 0) {
    tell(words.unchanged);
    return;
  }
  const saved = await client.call('updateAgent', { path: { id: agent.id }, body: patch });
  await refreshAgent(agent.id);
  tell(words.saved(saved.name));
  navigate(agentAddress(agent.id));
}

function AgentForm({ agent }: { agent: Agent | null }) {
  const mode = useSignal<Mode>('form');
  useKeys({ 1: () => (mode.value = 'form'), 2: () => (mode.value = 'json') }, words.editShortcuts);
  return (
    <div class={css['form']}>
      {agent === null && (
        <TeamField
          operation="createAgent"
          value={newHolder()}
          onChange={(to) => setQuery({ team: to === '' ? undefined : to }, 'replace')}
        />
      )}
      <Tabs label={words.how} tabs={MODES} current={mode.value} onChange={(to) => (mode.value = to)}>
        {mode.value === 'form' ? <ByForm agent={agent} /> : <ByJson agent={agent} />}
      </Tabs>
    </div>
  );
}

function providerOf(agent: Agent | null): string {
  const provider = agent?.configuration?.['provider'];
  return typeof provider === 'string' ? provider : STANDARD_PROVIDER;
}

function ByForm({ agent }: { agent: Agent | null }) {
  // A record may have a kind that this form does not know; it is kept then.
  const isFramework = agent?.execution_type === 'framework';
  const kind = useSignal((isFramework ? 'framework' : (agent?.type ?? 'api')) as Kind);
  const provider = useSignal(providerOf(agent));
  const authentication = useSignal((agent?.authentication_type ?? 'none') as Authentication);
  const { data: workflows } = useQuery({
    queryKey: ['workflow-names'],
    queryFn: ({ signal }) => client.call('listWorkflows', { query: { limit: 200 }, signal }),
    enabled: kind.value === 'workflow',
  });
  // Values that no field can show are found by the check of forms.
  const isReady = useSignal(isCheckLoaded());
  useEffect(() => void loadCheck().then(() => (isReady.value = true)), []);
  if (!isReady.value) return <div aria-busy="true" />;
  // The choices of a select are read once, so the form waits for them.
  if (kind.value === 'workflow' && workflows === undefined && agent === null) return <div aria-busy="true" />;
  const sections = agentSections({
    kind: kind.value,
    provider: provider.value,
    authentication: authentication.value,
    workflows: workflows ?? [],
    agent,
  });
  return (
    <RecordForm
      id="agent"
      sections={sections}
      submit={agent === null ? words.registerIt : words.save}
      onCancel={() => navigate(agent === null ? agentsAddress() : agentAddress(agent.id))}
      onSubmit={(body) =>
        save(agent, {
          ...body,
          ...typeOf(kind.value, agent),
          ...(authentication.value === 'none' && (agent?.authentication_type ?? 'none') === 'none'
            ? {}
            : { authentication_type: authentication.value }),
        })
      }
    >
      <Choices kind={kind} provider={provider} authentication={authentication} />
      {kind.value === 'workflow' && workflows?.length === 0 && <p>{words.noWorkflows}</p>}
    </RecordForm>
  );
}

/** What a kind of the form is in the record. */
function typeOf(kind: Kind, agent: Agent | null): Body {
  const wasFramework = agent?.execution_type === 'framework';
  if (kind === 'framework') return { type: wasFramework ? agent?.type : 'api', execution_type: 'framework' };
  return { type: kind, ...(wasFramework ? { execution_type: null } : {}) };
}

interface ChoicesProps {
  kind: Signal<Kind>;
  provider: Signal<string>;
  authentication: Signal<Authentication>;
}

/** What decides which fields the form has. */
function Choices({ kind, provider, authentication }: ChoicesProps) {
  return (
    <div class={page['actions']}>
      <Choice
        label={words.kind}
        value={kind.value}
        options={words.kinds}
        onChange={(to) => (kind.value = to)}
      />
      {HAS_PROVIDER.includes(kind.value) && (
        <Choice
          label={words.provider}
          value={provider.value}
          options={words.providers}
          onChange={(to) => (provider.value = to)}
        />
      )}
      {kind.value !== 'workflow' && (
        <Choice
          label={words.authentication}
          value={authentication.value}
          options={words.authentications}
          onChange={(to) => (authentication.value = to)}
        />
      )}
    </div>
  );
}

interface ChoiceProps<Option extends string> {
  label: string;
  value: Option;
  options: Readonly<Record<Option, string>>;
  onChange: (value: Option) => void;
}

function Choice<Option extends string>({ label, value, options, onChange }: ChoiceProps<Option>) {
  return (
    <label class={css['choice']}>
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value as Option)}>
        {Object.entries<string>(options).map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What a request to create or change an agent may name. */
const WRITABLE = [
  'name',
  'type',
  'version',
  'visibility',
  'status',
  'description',
  'execution_type',
  'url',
  'configuration',
  'authentication_type',
  'authentication_config',
  'input_schema',
  'output_schema',
  'tags',
  'capabilities',
  'modalities',
  'license',
  'repository_url',
  'provider_name',
  'provider_url',
  'documentation',
  'capabilities_streaming',
  'capabilities_push',
  'capabilities_history',
] as const satisfies readonly (keyof Agent)[];

const FIRST: Body = { name: '', type: 'api', version: '1.0.0', visibility: 'private', configuration: {} };

function ByJson({ agent }: { agent: Agent | null }) {
  const first = agent === null ? FIRST : Object.fromEntries(WRITABLE.map((name) => [name, agent[name]]));
  const text = useSignal(JSON.stringify(first, null, 2));
  const problems = useSignal<readonly string[]>([]);
  const refused = useSignal<unknown>(null);
  const send = async (event: Event) => {
    event.preventDefault();
    refused.value = null;
    problems.value = [];
    try {
      await save(agent, JSON.parse(text.value) as Body);
    } catch (error) {
      if (error instanceof SyntaxError) problems.value = [error.message];
      else if (error instanceof ApiError && error.errors.length > 0)
        problems.value = error.errors.map(({ pointer, message }) => `${pointer}: ${message}`);
      else refused.value = error;
    }
  };
  return (
    <form class={page['parts']} onSubmit={(event) => void send(event)}>
      <textarea
        aria-label={words.json}
        class={css['code']}
        rows={24}
        spellcheck={false}
        value={text.value}
        aria-invalid={problems.value.length > 0}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      {problems.value.map((problem) => (
        <p key={problem} class={css['problem']} role="alert">
          {problem}
        </p>
      ))}
      {refused.value !== null && <ProblemText error={refused.value} />}
      <div>
        <button type="submit" class="primary">
          {agent === null ? words.registerIt : words.save}
        </button>
      </div>
    </form>
  );
}
