/** A filter by one person: the field takes a username, or the id of anybody, also of who has no account. */
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import { isUuid } from '../../../contracts/uuid.ts';
import { client } from '../data/api.ts';
import { personName, readPersonId } from '../data/people.ts';
import { mayCall } from '../data/session.ts';
import { WrongEntry } from '../data/wrong-entry.ts';
import page from './page.module.css';
import { PersonField } from './person-field.tsx';
import { detailOf } from './problem.tsx';
import { complain } from './toasts.tsx';

interface Props {
  id: string;
  label: string;
  hint: string;
  /** An id, `me`, or nothing. */
  value: string;
  onChoose: (id: string) => void;
}

export function PersonFilter({ id, label, hint, value, onChoose }: Props) {
  /** What is being typed; null while the field shows what the address says. */
  const typed = useSignal<string | null>(null);
  /** It is complained of once, not again when the field is left. */
  const refused = useRef<string | undefined>(undefined);
  const choose = (person: string) => {
    typed.value = null;
    refused.current = undefined;
    onChoose(person);
  };
  const enter = async () => {
    const text = typed.value?.trim();
    if (text === undefined || text === refused.current) return;
    try {
      const isId = text === '' || text === 'me' || isUuid(text);
      choose(isId ? text : await readId(text));
    } catch (error) {
      refused.current = text;
      complain(detailOf(error));
    }
  };
  return (
    <div class={page['person']}>
      <PersonField
        id={id}
        aria-label={label}
        placeholder={hint}
        value={typed.value ?? (isUuid(value) ? personName(value) : value)}
        onText={(text) => (typed.value = text)}
        onChoose={(person) => choose(person.id)}
        onEntered={() => void enter()}
      />
    </div>
  );
}

/** Admins also find who is disabled. @throws WrongEntry */
async function readId(username: string): Promise<string> {
  try {
    return await readPersonId(username);
  } catch (error) {
    if (!(error instanceof WrongEntry) || !mayCall('listUsers')) throw error;
    for await (const user of client.items('listUsers', { query: { q: username, status: 'disabled' } }))
      if (user.username.toLowerCase() === username.toLowerCase()) return user.id;
    throw error;
  }
}
