import { settingsAddress } from '../app/routes.ts';
import { user } from '../data/session.ts';
import { words } from './words.ts';

/** To the audit log of a record, for administrators: others see there only what they did themselves. */
export function HistoryLink({ id }: { id: string }) {
  if (user.value?.roles.includes('admin') !== true) return null;
  return <a href={settingsAddress('audit', { object_id: id })}>{words.history}</a>;
}
