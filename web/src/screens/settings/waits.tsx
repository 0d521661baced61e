/** What has a viewer's rights until there is a second factor (docs/interface.md#second-factor). */
import { settingsAddress } from '../../app/routes.ts';
import { words } from './access-words.ts';

interface Waiting {
  awaits_second_factor: boolean;
}

/** Beside the name of a session, token or client. */
export function Waits({ one }: { one: Waiting }) {
  return one.awaits_second_factor ? <b> {words.waits}</b> : null;
}

/** Above one's own tokens or clients, if one of them waits. */
export function WaitsHelp({ records }: { records: readonly Waiting[] }) {
  if (!records.some((one) => one.awaits_second_factor)) return null;
  return (
    <p>
      {words.waitsHelp} <a href={settingsAddress('security')}>{words.setUpFactor}</a>
    </p>
  );
}
