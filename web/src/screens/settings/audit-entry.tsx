/** An entry of the audit log with all that it says. */
import type { AuditEntry } from '../../../../client/index.ts';
import { query } from '../../app/router.ts';
import { settingsAddress } from '../../app/routes.ts';
import { teamName } from '../../data/teams.ts';
import { Dialog } from '../../ui/dialog.tsx';
import page from '../../ui/page.module.css';
import { exactTime } from '../../ui/time.ts';
import { Value } from '../../ui/value.tsx';
import { actionText } from './audit-filter.ts';
import { words } from './audit-words.ts';
import css from './settings.module.css';

interface Props {
  entry: AuditEntry | null;
  onClose: () => void;
}

export function AuditEntryDialog({ entry, onClose }: Props) {
  return (
    <Dialog open={entry !== null} title={actionText(entry?.action ?? '')} onClose={onClose}>
      {entry !== null && <Entry entry={entry} onClose={onClose} />}
      <button type="button" onClick={onClose}>
        {words.close}
      </button>
    </Dialog>
  );
}

function Entry({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const { object, changes, details } = entry;
  const changed = Object.entries(changes);
  return (
    <div class={css['entry']}>
      <Facts facts={factsOf(entry)} />
      {object !== null && object.id !== null && (
        <a href={settingsAddress('audit', historyOf(object.id))} onClick={onClose}>
          {words.history}
        </a>
      )}
      {changed.length > 0 && (
        <section class={page['part']}>
          <h3>{words.changes}</h3>
          <Facts facts={changed.map(([name, change]) => [name, changeText(change)])} />
        </section>
      )}
      {Object.keys(details).length > 0 && (
        <section class={page['part']}>
          <h3>{words.details}</h3>
          <Value value={details} label={words.details} />
        </section>
      )}
    </div>
  );
}

/** In the team's log, if that is shown. */
function historyOf(object: string): Record<string, string> {
  const team = query.value['team_id'];
  return { object_id: object, ...(team ? { team_id: team } : {}) };
}

function Facts({ facts }: { facts: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl class={css['facts']}>
      {facts.map(([name, value]) => (
        <>
          <dt key={name}>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

/** Each with its name; fields without a value are left out. */
function factsOf(entry: AuditEntry): [name: string, value: string][] {
  const { actor, object, credential, fields } = entry;
  const values: Record<keyof typeof words.fields, string | null> = {
    at: exactTime(entry.at),
    action: entry.action,
    actor: actor === null ? null : [actor.username, actor.id].filter((one) => one !== null).join(', '),
    outcome: words.outcomes[entry.outcome],
    object: object === null ? null : `${object.type} ${object.id ?? ''}`,
    credential: `${credential.type} ${credential.id ?? ''}`,
    via: entry.via,
    address: entry.address,
    user_agent: entry.user_agent,
    request_id: entry.request_id,
    fields: fields.length === 0 ? null : fields.join(', '),
    team: teamText(entry.team_id),
    newTeam: teamText(entry.to_team_id),
  };
  // Safe: they are the table's own names.
  return (Object.keys(values) as (keyof typeof values)[]).flatMap((name) => {
    const value = values[name];
    return value === null ? [] : [[words.fields[name], value]];
  });
}

function teamText(id: string | null): string | null {
  return id === null ? null : `${teamName(id)}, ${id}`;
}

/** Values are kept of harmless fields alone. */
function changeText({ old, new: next }: AuditEntry['changes'][string]): string {
  if (old === undefined && next === undefined) return words.valuesNotKept;
  return old === undefined ? shown(next) : words.fromTo(shown(old), shown(next));
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
