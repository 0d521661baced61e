import { settingsAddress } from '../app/routes.ts';
import { user } from '../data/session.ts';
import { teamsToManage } from '../data/teams.ts';
import { words } from './words.ts';

interface Props {
  id: string;
  /** The team that holds it. */
  team?: string | null;
}

/** To the audit log of a record, for administrators and admins of its team. */
export function HistoryLink({ id, team = null }: Props) {
  const isAdmin = user.value?.roles.includes('admin') === true;
  const ofTeam = !isAdmin && teamsToManage().some((one) => one.id === team) ? team : null;
  if (!isAdmin && ofTeam === null) return null;
  const filter = { object_id: id, ...(ofTeam === null ? {} : { team_id: ofTeam }) };
  return <a href={settingsAddress('audit', filter)}>{words.history}</a>;
}
