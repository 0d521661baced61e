/** What is one's own, and what admins look after: one screen with a part for each. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';

import { lazy } from '../../app/lazy.tsx';
import { settingsAddress, type SettingsPart } from '../../app/routes.ts';
import { mayCall } from '../../data/session.ts';
import { isNarrow } from '../../ui/narrow.ts';
import page from '../../ui/page.module.css';
import { Refused } from '../../ui/refused.tsx';
import { useTitle } from '../../ui/title.ts';
import { Health } from './health.tsx';
import { NEEDS, PARTS } from './parts.ts';
import { Profile } from './profile.tsx';
import { Sessions } from './sessions.tsx';
import css from './settings.module.css';
import { words } from './words.ts';

const COMPONENTS: Readonly<Record<SettingsPart, ComponentType>> = {
  profile: Profile,
  notifications: lazy(async () => (await import('./notifications.tsx')).NotificationsPart),
  sessions: Sessions,
  security: lazy(async () => (await import('./second-factor.tsx')).SecondFactor),
  tokens: lazy(async () => (await import('./tokens.tsx')).Tokens),
  clients: lazy(async () => (await import('./clients.tsx')).Clients),
  secrets: lazy(async () => (await import('./secrets.tsx')).Secrets),
  webhooks: lazy(async () => (await import('./webhooks.tsx')).Webhooks),
  events: lazy(async () => (await import('./events.tsx')).Events),
  files: lazy(async () => (await import('./files.tsx')).Files),
  conversations: lazy(async () => (await import('./conversations.tsx')).ConversationsPart),
  usage: lazy(async () => (await import('./usage.tsx')).UsagePart),
  limits: lazy(async () => (await import('./limits.tsx')).LimitsPart),
  budgets: lazy(async () => (await import('./budgets.tsx')).BudgetsPart),
  prices: lazy(async () => (await import('./prices.tsx')).PricesPart),
  users: lazy(async () => (await import('./users.tsx')).Users),
  audit: lazy(async () => (await import('./audit.tsx')).Audit),
  issuers: lazy(async () => (await import('./issuers.tsx')).Issuers),
  teams: lazy(async () => (await import('./teams.tsx')).Teams),
  health: Health,
};

const UserPage = lazy(async () => (await import('./user/user-page.tsx')).UserPage, 'h1');

export function Settings({ part }: { part: SettingsPart }) {
  const Part = COMPONENTS[part];
  return (
    <Frame part={part}>
      <Titled part={part}>
        <Part />
      </Titled>
    </Frame>
  );
}

/** What admins see and do of one user. */
export function UserScreen({ id }: { id: string }) {
  return (
    <Frame part="users">
      {mayCall('getUser') ? <UserPage id={id} /> : <Titled part="users">{null}</Titled>}
    </Frame>
  );
}

interface Props {
  part: SettingsPart;
  children: ComponentChildren;
}

function Titled({ part, children }: Props) {
  useTitle(`${words.parts[part]} · ${words.title}`);
  return (
    <>
      <h1>{words.parts[part]}</h1>
      {mayCall(NEEDS[part]) ? children : <Refused operation={NEEDS[part]} />}
    </>
  );
}

function Frame({ part, children }: Props) {
  return (
    <div class={css['settings']}>
      <nav class={css['parts']} aria-label={words.title}>
        <Menu part={part} />
      </nav>
      <div class={page['page']}>{children}</div>
    </div>
  );
}

const MENU_BUTTON = 'settings-menu';

/**
 * On a phone, the parts are shown on demand: all of them take half of its window. The link that is chosen is
 * gone then, so the focus goes to the button.
 */
function Menu({ part }: { part: SettingsPart }) {
  const isOpen = useSignal(false);
  const choose = () => {
    isOpen.value = false;
    // After the click has changed the address, which may draw another frame.
    if (isNarrow.value) setTimeout(() => document.getElementById(MENU_BUTTON)?.focus());
  };
  return (
    <>
      {isNarrow.value && (
        <button
          id={MENU_BUTTON}
          type="button"
          aria-expanded={isOpen.value}
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          {words.menu(words.parts[part])} <span aria-hidden="true">▾</span>
        </button>
      )}
      {(isOpen.value || !isNarrow.value) &&
        PARTS.filter((name) => mayCall(NEEDS[name])).map((name) => (
          <a
            key={name}
            href={settingsAddress(name)}
            aria-current={name === part ? 'page' : undefined}
            onClick={choose}
          >
            {words.parts[name]}
          </a>
        ))}
    </>
  );
}
