/** Who did what with a task, oldest first. It is loaded when somebody asks for it. */
import type { HumanTaskAuditEntry } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { ListState } from '../../ui/list-state.tsx';
import { When } from '../../ui/when.tsx';
import css from './inbox.module.css';
import { words } from './history-words.ts';

/** @param state changes with the task, which is read anew then */
export function History({ id, state }: { id: string; state: string }) {
  const list = usePages(['task history', id, state], (cursor) =>
    client.page('listHumanTaskAudit', { path: { id }, query: { cursor: cursor ?? undefined } }),
  );
  return (
    <ListState list={list} empty={null}>
      <ul class={css['comments']}>
        {list.items.value.map((entry) => (
          <li key={entry.id}>
            {textOf(entry)} <span class="muted">{notesOf(entry)}</span> <When at={entry.at} />
          </li>
        ))}
      </ul>
    </ListState>
  );
}

function textOf({ actor, action, via, data }: HumanTaskAuditEntry): string {
  const decision = data['decision'];
  const who = actor?.username ?? (via === 'system' ? words.system : words.run);
  return `${who} ${words.actions[action]}${typeof decision === 'string' ? `: ${decision}` : ''}`;
}

function notesOf({ via, as_admin: asAdmin }: HumanTaskAuditEntry): string {
  return [words.via[via], asAdmin ? words.asAdmin : ''].filter((note) => note !== '').join(', ');
}
