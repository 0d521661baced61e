/** What is one's own, and what admins look after: one screen with a part for each. */
import type { ComponentType } from 'preact';

import type { OperationId } from '../../../../client/index.ts';
import { settingsAddress, type SettingsPart } from '../../app/routes.ts';
import { mayCall } from '../../data/session.ts';
import page from '../../ui/page.module.css';
import { Refused } from '../../ui/refused.tsx';
import { useTitle } from '../../ui/title.ts';
import { Clients } from './clients.tsx';
import { Files } from './files.tsx';
import { Health } from './health.tsx';
import { Profile } from './profile.tsx';
import { Secrets } from './secrets.tsx';
import { Sessions } from './sessions.tsx';
import css from './settings.module.css';
import { Users } from './users.tsx';
import { Webhooks } from './webhooks.tsx';
import { words } from './words.ts';

/** Each part with the operation that it cannot do without. */
const PARTS: Record<SettingsPart, { needs: OperationId; Part: ComponentType }> = {
  profile: { needs: 'getMe', Part: Profile },
  sessions: { needs: 'listMySessions', Part: Sessions },
  clients: { needs: 'listMyClients', Part: Clients },
  secrets: { needs: 'listSecrets', Part: Secrets },
  webhooks: { needs: 'listWebhooks', Part: Webhooks },
  files: { needs: 'listFiles', Part: Files },
  users: { needs: 'listUsers', Part: Users },
  health: { needs: 'getReadiness', Part: Health },
};
const NAMES = Object.keys(PARTS) as SettingsPart[];

export function Settings({ part }: { part: SettingsPart }) {
  useTitle(`${words.parts[part]} · ${words.title}`);
  const { needs, Part } = PARTS[part];
  return (
    <div class={css['settings']}>
      <nav class={css['parts']} aria-label={words.title}>
        {NAMES.filter((name) => mayCall(PARTS[name].needs)).map((name) => (
          <a key={name} href={settingsAddress(name)} aria-current={name === part ? 'page' : undefined}>
            {words.parts[name]}
          </a>
        ))}
      </nav>
      <div class={page['page']}>
        <h1>{words.parts[part]}</h1>
        {mayCall(needs) ? <Part /> : <Refused operation={needs} />}
      </div>
    </div>
  );
}
