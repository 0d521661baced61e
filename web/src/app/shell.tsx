/** The frame of every screen: navigation, state of the connection, account. */
import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import type { OperationId, User } from '../../../client/index.ts';
import { connection, liveUntil } from '../data/live.ts';
import { outbox } from '../data/outbox.ts';
import { logOut, mayCall } from '../data/session.ts';
import { MAX_COUNT, useTaskCounts } from '../data/task-counts.ts';
import { Inbox } from '../screens/inbox/inbox.tsx';
import { Runs } from '../screens/runs/runs.tsx';
import { nowMs } from '../ui/clock.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Logo } from '../ui/logo.tsx';
import { clockTime } from '../ui/time.ts';
import { useTitle } from '../ui/title.ts';
import { complain } from '../ui/toasts.tsx';
import { detailOf } from '../ui/problem.tsx';
import { useKeys } from './keys.ts';
import { lazy } from './lazy.tsx';
import { navigate, route } from './router.ts';
import {
  agentsAddress,
  BASE,
  inboxAddress,
  runsAddress,
  settingsAddress,
  workflowsAddress,
  type Route,
} from './routes.ts';
import css from './shell.module.css';
import { switchTheme } from './theme.ts';
import { words } from './words.ts';

const Device = lazy(async () => (await import('../screens/device/device.tsx')).Device);
const Agents = lazy(async () => (await import('../screens/agents/agents.tsx')).Agents);
const AgentScreen = lazy(async () => (await import('../screens/agents/agent.tsx')).AgentScreen);
const NewAgent = lazy(async () => (await import('../screens/agents/edit-agent.tsx')).NewAgent);
const EditAgent = lazy(async () => (await import('../screens/agents/edit-agent.tsx')).EditAgent);
const RunScreen = lazy(async () => (await import('../screens/run/run.tsx')).RunScreen);
const Editor = lazy(async () => (await import('../screens/editor/editor.tsx')).Editor);
const Settings = lazy(async () => (await import('../screens/settings/settings.tsx')).Settings);
const Workflows = lazy(async () => (await import('../screens/workflows/workflows.tsx')).Workflows);
const WorkflowScreen = lazy(async () => (await import('../screens/workflow/workflow.tsx')).WorkflowScreen);

export function Shell({ user }: { user: User }) {
  const showsKeys = useSignal(false);
  useKeys({
    'g i': () => navigate(inboxAddress()),
    'g r': () => navigate(runsAddress()),
    'g w': () => navigate(workflowsAddress()),
    'g a': () => navigate(agentsAddress()),
    'g s': () => navigate(settingsAddress('profile')),
    '/': () => document.querySelector<HTMLInputElement>('input[type=search]')?.focus(),
    t: switchTheme,
    '?': () => (showsKeys.value = true),
  });
  const { screen } = route.value;
  return (
    <div class={css['frame']}>
      <a class={css['skip']} href="#main" onClick={focusMain}>
        {words.skip}
      </a>
      <header class={css['header']}>
        <a class={css['brand']} href={`${BASE}/inbox`}>
          <Logo size={22} /> Cadenza
        </a>
        <Navigation screen={screen} />
        <Connection />
        <Account user={user} onKeys={() => (showsKeys.value = true)} />
      </header>
      <OfflineBar />
      <main id="main" class={css['main']} tabIndex={-1}>
        <Screen />
      </main>
      <Dialog open={showsKeys.value} title={words.keys} onClose={() => (showsKeys.value = false)}>
        <dl class={css['keys']}>
          {words.shortcuts.map(([key, text]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
    </div>
  );
}

/** A screen is offered to whose role may read what it shows. */
const SCREENS: readonly { name: Route['screen']; parts: string[]; needs: OperationId; href: string }[] = [
  { name: 'inbox', parts: [], needs: 'listHumanTasks', href: inboxAddress() },
  { name: 'runs', parts: ['run'], needs: 'listRuns', href: runsAddress() },
  { name: 'workflows', parts: ['workflow', 'editor'], needs: 'listWorkflows', href: workflowsAddress() },
  { name: 'agents', parts: ['agent', 'agent-new', 'agent-edit'], needs: 'listAgents', href: agentsAddress() },
];

function Navigation({ screen }: { screen: Route['screen'] }) {
  return (
    <nav class={css['nav']} aria-label={words.navigation}>
      {SCREENS.filter(({ needs }) => mayCall(needs)).map(({ name, parts, href }) => (
        <a
          key={name}
          href={href}
          aria-current={screen === name ? 'page' : parts.includes(screen) ? 'true' : undefined}
        >
          {words.screens[name] ?? name} {name === 'inbox' && <InboxCount />}
        </a>
      ))}
    </nav>
  );
}

/** Red when something is late. */
function InboxCount() {
  const counts = useTaskCounts();
  if (counts === undefined || counts.open === 0) return null;
  const text = words.count(counts.open, counts.open >= MAX_COUNT);
  const title = words.waiting(text, counts.overdue);
  return (
    <span class={css['count']} data-late={counts.overdue > 0} title={title}>
      <span aria-hidden="true">{text}</span>
      <span class="hidden-text">{title}</span>
    </span>
  );
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Screen() {
  const current = route.value;
  switch (current.screen) {
    case 'inbox':
      return <Inbox />;
    case 'runs':
      return <Runs />;
    case 'run':
      return <RunScreen key={current.id} id={current.id} />;
    case 'workflows':
      return <Workflows />;
    case 'workflow':
      return <WorkflowScreen key={current.id} id={current.id} />;
    case 'agents':
      return <Agents />;
    case 'agent-new':
      return <NewAgent />;
    case 'agent':
      return <AgentScreen key={current.id} id={current.id} />;
    case 'agent-edit':
      return <EditAgent key={current.id} id={current.id} />;
    case 'editor':
      return <Editor id={current.id} />;
    case 'settings':
      return <Settings key={current.part} part={current.part} />;
    case 'device':
      return <Device />;
    case 'unknown':
      return <Unknown />;
  }
}

function Unknown() {
  useTitle(words.unknown);
  return (
    <div class={css['unknown']}>
      <h1>{words.unknown}</h1>
      <p>{words.unknownText}</p>
      <a href={inboxAddress()}>{words.toInbox}</a>
    </div>
  );
}

/** A connection that is lost for a moment only is not worth a word. */
const LOST_MS = 2_000;

function Connection() {
  const state = useComputed(() => {
    const lostAt = liveUntil.value;
    const isBrief = lostAt !== null && nowMs.value - lostAt < LOST_MS;
    return connection.value === 'reconnecting' && isBrief ? 'live' : connection.value;
  });
  return (
    <span class={css['connection']} data-state={state.value}>
      <span class={css['dot']} aria-hidden="true" /> {words[state.value]}
    </span>
  );
}

function OfflineBar() {
  const isOffline = outbox.waiting.value || connection.value === 'reconnecting';
  const since = liveUntil.value;
  const isLong = outbox.waiting.value || (since !== null && nowMs.value - since >= LOST_MS);
  return (
    <div role="status">
      {isOffline && isLong && (
        <p class={css['offline']}>
          {words.offline(since === null ? null : clockTime(new Date(since).toISOString()).slice(0, 5))}
        </p>
      )}
    </div>
  );
}

function Account({ user, onKeys }: { user: User; onKeys: () => void }) {
  const isOpen = useSignal(false);
  useEffect(() => {
    if (!isOpen.value) return undefined;
    const close = (event: Event) => {
      const isInside = event.target instanceof Element && event.target.closest(`.${css['account']}`);
      if (event instanceof KeyboardEvent ? event.key === 'Escape' : !isInside) isOpen.value = false;
    };
    document.addEventListener('click', close);
    document.addEventListener('keydown', close);
    return () => {
      document.removeEventListener('click', close);
      document.removeEventListener('keydown', close);
    };
  }, [isOpen.value]);
  const act = (action: () => void) => () => {
    isOpen.value = false;
    action();
  };
  return (
    <div class={css['account']}>
      <button
        type="button"
        class="plain"
        aria-expanded={isOpen.value}
        title={words.account}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {user.display_name ?? user.username} ▾
      </button>
      {isOpen.value && (
        <div class={css['menu']}>
          <button type="button" class="plain" onClick={act(onKeys)}>
            {words.keys} <kbd>?</kbd>
          </button>
          <button type="button" class="plain" onClick={act(switchTheme)}>
            {words.theme} <kbd>t</kbd>
          </button>
          <a href={settingsAddress('profile')} onClick={() => (isOpen.value = false)}>
            {words.settings} <kbd>g s</kbd>
          </a>
          <a href="/docs">{words.reference}</a>
          <button
            type="button"
            class="plain"
            onClick={act(() => void logOut().catch((error: unknown) => complain(detailOf(error))))}
          >
            {words.logOut}
          </button>
        </div>
      )}
    </div>
  );
}
