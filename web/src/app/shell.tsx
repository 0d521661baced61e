/** The frame of every screen: navigation, state of the connection, account. */
import { effect, useComputed, useSignal, type Signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import type { User } from '../../../client/index.ts';
import { connection, liveUntil } from '../data/live.ts';
import { outbox } from '../data/outbox.ts';
import { useReadiness } from '../data/readiness.ts';
import { logOut, mayCall } from '../data/session.ts';
import { MAX_COUNT, MAX_UNREAD, useTaskCounts, useUnread } from '../data/task-counts.ts';
import { Inbox } from '../screens/inbox/inbox.tsx';
import { nowMs } from '../ui/clock.ts';
import { Dialog } from '../ui/dialog.tsx';
import { useLate } from '../ui/late.ts';
import { Logo } from '../ui/logo.tsx';
import { clockTime } from '../ui/time.ts';
import { useTitle } from '../ui/title.ts';
import { complain } from '../ui/toasts.tsx';
import { detailOf } from '../ui/problem.tsx';
import { KeyList } from './key-list.tsx';
import { isMac, keyName } from './key-names.ts';
import { useKeys } from './keys.ts';
import { lazy } from './lazy.tsx';
import { Palette } from './palette.tsx';
import { navigate, path, route } from './router.ts';
import { inboxAddress, settingsAddress, type Route } from './routes.ts';
import { homeAddress, SCREENS } from './screens.ts';
import css from './shell.module.css';
import { switchTheme } from './theme.ts';
import { words } from './words.ts';

/** A screen of its own file. */
const screen = <Props extends object>(load: () => Promise<ComponentType<Props>>) => lazy(load, 'h1');

const Device = screen(async () => (await import('../screens/device/device.tsx')).Device);
const Agents = screen(async () => (await import('../screens/agents/agents.tsx')).Agents);
const AgentScreen = screen(async () => (await import('../screens/agents/agent.tsx')).AgentScreen);
const NewAgent = screen(async () => (await import('../screens/agents/edit-agent.tsx')).NewAgent);
const EditAgent = screen(async () => (await import('../screens/agents/edit-agent.tsx')).EditAgent);
const Runs = screen(async () => (await import('../screens/runs/runs.tsx')).Runs);
const RunScreen = screen(async () => (await import('../screens/run/run.tsx')).RunScreen);
const Editor = screen(async () => (await import('../screens/editor/editor.tsx')).Editor);
const Marketplace = screen(async () => (await import('../screens/marketplace/marketplace.tsx')).Marketplace);
const MarketItem = screen(async () => (await import('../screens/marketplace/market-item.tsx')).MarketItem);
const MarketReviews = screen(
  async () => (await import('../screens/marketplace/market-reviews.tsx')).MarketReviews,
);
const Settings = screen(async () => (await import('../screens/settings/settings.tsx')).Settings);
const UserScreen = screen(async () => (await import('../screens/settings/settings.tsx')).UserScreen);
const Start = screen(async () => (await import('../screens/start/start.tsx')).Start);
const Workflows = screen(async () => (await import('../screens/workflows/workflows.tsx')).Workflows);
const WorkflowScreen = screen(async () => (await import('../screens/workflow/workflow.tsx')).WorkflowScreen);

export function Shell({ user }: { user: User }) {
  const showsKeys = useSignal(false);
  const showsPalette = useSignal(false);
  useKeys(
    {
      'mod+k': () => (showsPalette.value = true),
      ...Object.fromEntries(SCREENS.map(({ name, key }) => [key, () => navigate(homeAddress(name))])),
      'g s': () => navigate(settingsAddress('profile')),
      '/': () => document.querySelector<HTMLInputElement>('input[type=search]')?.focus(),
      t: switchTheme,
      '?': () => (showsKeys.value = true),
    },
    words.shortcuts,
    'everywhere',
  );
  useFocusOfScreen();
  return (
    <div class={css['frame']}>
      <a class={css['skip']} href="#main" onClick={focusMain}>
        {words.skip}
      </a>
      <header class={css['header']}>
        <a class={css['brand']} href={homeAddress('inbox')}>
          <Logo size={22} /> Cadenza
        </a>
        <Navigation screen={route.value.screen} />
        <button
          type="button"
          class={css['find']}
          aria-haspopup="dialog"
          onClick={() => (showsPalette.value = true)}
        >
          <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
            <path d="M11 11l4 4M7 12a5 5 0 1 1 0-10a5 5 0 0 1 0 10" />
          </svg>
          <span>{words.palette}</span> <kbd aria-hidden="true">{keyName('mod+k', isMac)}</kbd>
        </button>
        <Connection />
        <Bell />
        <Account user={user} onKeys={() => (showsKeys.value = true)} />
      </header>
      <OfflineBar />
      <DegradedBar />
      <main id="main" class={css['main']} tabIndex={-1}>
        <Screen />
      </main>
      <Dialog open={showsKeys.value} title={words.keys} onClose={() => (showsKeys.value = false)}>
        <KeyList />
      </Dialog>
      <Palette isOpen={showsPalette} />
    </div>
  );
}

// Another screen is read from its start.
effect(() => {
  if (path.value !== '') document.getElementById('main')?.scrollTo(0, 0);
});

/** What led to another screen has vanished with the last one: the keyboard goes on in the new one. */
function useFocusOfScreen(): void {
  const shown = useRef(path.value);
  useLayoutEffect(() => {
    if (shown.current === path.value) return;
    shown.current = path.value;
    const { activeElement } = document;
    if (activeElement === null || activeElement === document.body) focusMain();
  }, [path.value]);
}

function Navigation({ screen }: { screen: Route['screen'] }) {
  return (
    <nav class={css['nav']} aria-label={words.navigation}>
      {SCREENS.filter(({ needs }) => mayCall(needs)).map(({ name, parts }) => (
        <a
          key={name}
          href={homeAddress(name)}
          aria-current={screen === name ? 'page' : parts.some((part) => part === screen) ? 'true' : undefined}
        >
          {words.screens[name]} {name === 'inbox' && <InboxCount />}
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

/** Leads to the notifications, with how many are unread. */
function Bell() {
  const unread = useUnread();
  const text = words.count(unread, unread >= MAX_UNREAD);
  const title = words.unread(text);
  return (
    <a class={css['bell']} href={settingsAddress('notifications')} title={title}>
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M2 12h12l-2-3V6a4 4 0 0 0-8 0v3zM6 14h4" />
      </svg>
      {unread > 0 && (
        <span class={css['count']} aria-hidden="true">
          {text}
        </span>
      )}
      <span class="hidden-text">{title}</span>
    </a>
  );
}

function focusMain(event?: Event): void {
  event?.preventDefault();
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
    case 'marketplace':
      return <Marketplace />;
    case 'market-item':
      return <MarketItem key={current.id} id={current.id} />;
    case 'market-reviews':
      return <MarketReviews />;
    case 'settings':
      return <Settings key={current.part} part={current.part} />;
    case 'user':
      return <UserScreen key={current.id} id={current.id} />;
    case 'start':
      return <Start />;
    case 'device':
      return <Device />;
    // It has a page of its own (app.tsx).
    case 'password':
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

/** The first screen does not wait for it. */
const FIRST_CHECK_MS = 10_000;
const CHECK_EVERY_MS = 60_000;

function DegradedBar() {
  const isDue = useLate(true, FIRST_CHECK_MS);
  const { data } = useReadiness(isDue ? CHECK_EVERY_MS : null);
  const { temporal = 'ok', files = 'ok' } = data?.checks ?? {};
  return (
    <div role="status">
      {temporal !== 'ok' && <p class={css['offline']}>{words.temporalAway}</p>}
      {files !== 'ok' && <p class={css['offline']}>{words.filesAway}</p>}
    </div>
  );
}

/** A click beside the menu and Esc close it. */
function useClosing(isOpen: Signal<boolean>, button: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    if (!isOpen.value) return undefined;
    const onClick = ({ target }: Event) => {
      const isInside = target instanceof Element && target.closest(`.${css['account']}`);
      if (!isInside) isOpen.value = false;
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      // The key is for the menu, and not also for the screen.
      event.preventDefault();
      isOpen.value = false;
      button.current?.focus();
    };
    document.addEventListener('click', onClick);
    document.addEventListener('keydown', onKey, { capture: true });
    return () => {
      document.removeEventListener('click', onClick);
      document.removeEventListener('keydown', onKey, { capture: true });
    };
  }, [isOpen.value]);
}

function Account({ user, onKeys }: { user: User; onKeys: () => void }) {
  const isOpen = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  useClosing(isOpen, button);
  const act = (action: () => void) => () => {
    isOpen.value = false;
    action();
  };
  return (
    <div class={css['account']}>
      <button
        ref={button}
        type="button"
        class="plain"
        aria-expanded={isOpen.value}
        title={words.account}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <span class={css['name']}>{user.display_name ?? user.username}</span> ▾
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
