/** Installs an item: binds its secrets to own ones, and says where the copy is and what it still needs. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

import type {
  MarketplaceInstall,
  MarketplaceInstallPlan,
  MarketplaceItem,
  MissingParts,
} from '../../../../client/index.ts';
import { agentAddress, settingsAddress, workflowAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { teamToBuildFor } from '../../data/teams.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { focusDrawn } from '../../ui/focus.ts';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import { TeamField } from '../../ui/team-choice.tsx';
import { bindingSchema, fits } from './bindings.ts';
import { refreshItem } from './market-data.ts';
import css from './marketplace.module.css';
import { words } from './words.ts';

interface Props {
  item: MarketplaceItem;
  open: boolean;
  onClose: () => void;
}

export function Install({ item, open, onClose }: Props) {
  const installed = useSignal<MarketplaceInstall | null>(null);
  const close = () => {
    installed.value = null;
    onClose();
  };
  const done = installed.value;
  return (
    <Dialog
      open={open}
      title={done === null ? words.installTitle(item.name) : words.installed(done.name)}
      onClose={close}
    >
      {done === null ? (
        <Prepare
          item={item}
          onClose={close}
          onInstalled={(answer) => {
            installed.value = answer;
            focusDrawn(`#${LANDED}`);
          }}
        />
      ) : (
        <Landed installed={done} onClose={close} />
      )}
    </Dialog>
  );
}

/** More names than a select can reasonably show are not read. */
const MAX_SECRETS = 1_000;

async function readSecretNames(team: string | undefined, signal: AbortSignal): Promise<string[]> {
  const names: string[] = [];
  const query = { limit: 200, team_id: team };
  for await (const { name } of client.items('listSecrets', { query, signal })) {
    names.push(name);
    if (names.length === MAX_SECRETS) break;
  }
  return names;
}

interface PrepareProps {
  item: MarketplaceItem;
  onClose: () => void;
  onInstalled: (installed: MarketplaceInstall) => void;
}

function Prepare({ item, onClose, onInstalled }: PrepareProps) {
  const { id } = item;
  const chosen = useSignal(teamToBuildFor('installMarketplaceItem', undefined));
  const team = chosen.value === '' ? undefined : chosen.value;
  const plan = useQuery<MarketplaceInstallPlan>({
    queryKey: ['item', id, 'plan', chosen.value],
    staleTime: 0,
    queryFn: ({ signal }) =>
      client.call('planMarketplaceInstall', { path: { id }, query: { team_id: team }, signal }),
  });
  const names = useQuery<string[]>({
    queryKey: ['secret-names', chosen.value],
    staleTime: 0,
    queryFn: ({ signal }) => readSecretNames(team, signal),
  });
  const content = useRef<HTMLDivElement>(null);
  const isLoaded = plan.data !== undefined && names.data !== undefined;
  useLayoutEffect(() => {
    if (isLoaded) content.current?.querySelector<HTMLElement>('select, button')?.focus();
  }, [isLoaded]);
  const error = plan.error ?? names.error;
  if (error !== null) return <ProblemText error={error} />;
  if (plan.data === undefined || names.data === undefined) return <div aria-busy="true" />;
  return (
    <div ref={content} class={page['parts']}>
      <TeamField
        operation="installMarketplaceItem"
        value={chosen.value}
        onChange={(to) => (chosen.value = to)}
      />
      <Form
        key={chosen.value}
        item={item}
        plan={plan.data}
        names={names.data}
        team={team}
        onClose={onClose}
        onInstalled={onInstalled}
      />
    </div>
  );
}

interface FormProps extends PrepareProps {
  plan: MarketplaceInstallPlan;
  names: readonly string[];
  team: string | undefined;
}

function Form({ item, plan, names, team, onClose, onInstalled }: FormProps) {
  const { copy, secrets, agents } = plan;
  if (copy !== null && !agents.some(({ use }) => use === 'install'))
    return (
      <>
        <p>{words.hasCopy}</p>
        <div class={page['actions']}>
          <a href={copyAddress(item.kind, copy.ref_id)}>
            {words.open} {copy.name}
          </a>
          <button type="button" onClick={onClose}>
            {words.close}
          </button>
        </div>
      </>
    );
  const hasNames = names.some((own) => secrets.some((secret) => fits(item.kind, secret, own)));
  const sections =
    secrets.length === 0
      ? []
      : [{ id: 'secrets', member: 'secrets', schema: bindingSchema(item.kind, secrets, names) }];
  return (
    <>
      {copy === null ? (
        <p>{secrets.length === 0 ? words.installTextNoSecrets : words.installText}</p>
      ) : (
        <p>
          {words.hasCopy} {copy.name}. {words.completeText}
        </p>
      )}
      <PlannedAgents agents={agents} />
      {secrets.length > 0 && <SecretsHelp hasNames={hasNames} />}
      <RecordForm
        id="install"
        sections={sections}
        submit={words.install}
        onCancel={onClose}
        onSubmit={async (body) => {
          const given = body as { secrets?: Record<string, string> };
          const path = { id: item.id };
          onInstalled(
            await client.call('installMarketplaceItem', { path, body: { ...given, team_id: team ?? null } }),
          );
          // Who has installed it may rate it.
          await refreshItem(item.id);
        }}
      />
    </>
  );
}

function SecretsHelp({ hasNames }: { hasNames: boolean }) {
  return (
    <p class="muted">
      {hasNames ? words.bindHelp : words.noSecrets} <a href={settingsAddress('secrets')}>{words.toSecrets}</a>
    </p>
  );
}

function PlannedAgents({ agents }: Pick<MarketplaceInstallPlan, 'agents'>) {
  if (agents.length === 0) return null;
  return (
    <section class={page['part']}>
      <h3 class={css['small']}>{words.agentsOfIt}</h3>
      <ul class={css['list']}>
        {agents.map(({ agent, agent_id: id, version, use }) => (
          <li key={`${id} ${version}`}>
            {agent} <span class="muted">{words.uses[use]}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const LANDED = 'installed-copy';

function copyAddress(kind: MarketplaceItem['kind'], id: string): string {
  return kind === 'agent' ? agentAddress(id) : workflowAddress(id);
}

function Landed({ installed, onClose }: { installed: MarketplaceInstall; onClose: () => void }) {
  const { kind, ref_id: copy, name, agents } = installed;
  return (
    <>
      {agents.length > 0 && (
        <section class={page['part']}>
          <h3 class={css['small']}>{words.withIt}</h3>
          <ul class={css['list']}>
            {agents.map((agent) => (
              <li key={agent.id}>
                <a href={agentAddress(agent.ref_id)}>{agent.name}</a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Missing parts={[installed.missing, ...agents.map(({ missing }) => missing)]} />
      <div class={page['actions']}>
        <a id={LANDED} href={copyAddress(kind, copy)}>
          {words.open} {name}
        </a>
        <button type="button" onClick={onClose}>
          {words.close}
        </button>
      </div>
    </>
  );
}

function Missing({ parts }: { parts: readonly MissingParts[] }) {
  const lines = parts.flatMap(({ secrets, agents, workflows }) => [
    ...secrets.map((name) => words.missingSecret(name)),
    ...agents.map(({ agent }) => words.missingAgent(agent)),
    ...workflows.map((workflow) => words.missingWorkflow(workflow)),
  ]);
  if (lines.length === 0) return null;
  return (
    <section class={page['part']}>
      <h3 class={css['small']}>{words.missing}</h3>
      <ul class={css['list']}>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  );
}
