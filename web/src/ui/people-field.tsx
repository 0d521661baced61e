/** A field for several people. Who was chosen stands above it. */
import { useSignal } from '@preact/signals';

import { isUuid } from '../../../contracts/uuid.ts';
import { personName } from '../data/people.ts';
import { PersonLabel } from './avatar.tsx';
import css from './people-field.module.css';
import { words } from './people-words.ts';
import { PersonField } from './person-field.tsx';
import { drawnBy, textLines, type OwnControl, type Schema } from './schema-form/fields.ts';

/** A field of a form for a list of usernames and ids. */
export function peopleSchema(title: string, description: string): Schema {
  return drawnBy(PeopleField, { type: 'array', items: { type: 'string' }, title, description });
}

/** A name that was only typed is the last line. */
function PeopleField({ label, value, required, onText, ...field }: OwnControl) {
  const typed = useSignal('');
  const lines = textLines(value);
  const chosen = typed.value.trim() === '' ? lines : lines.slice(0, -1);
  const enter = (people: readonly string[], text: string) => {
    typed.value = text;
    onText([...new Set(people), ...textLines(text)].join('\n'));
  };
  const paste = (event: ClipboardEvent) => {
    const pasted = textLines(event.clipboardData?.getData('text') ?? '');
    if (pasted.length < 2) return;
    event.preventDefault();
    enter([...chosen, ...pasted], '');
  };
  return (
    <div>
      {chosen.length > 0 && (
        <ul class={css['chosen']} aria-label={words.chosen(label)}>
          {chosen.map((person) => (
            <Chosen
              key={person}
              person={person}
              disabled={field.disabled}
              onRemove={() => {
                const others = chosen.filter((other) => other !== person);
                enter(others, typed.value);
                document.getElementById(field.id)?.focus();
              }}
            />
          ))}
        </ul>
      )}
      <PersonField
        {...field}
        required={required && chosen.length === 0}
        without={chosen.filter(isUuid)}
        value={typed.value}
        onText={(text) => enter(chosen, text)}
        onChoose={({ id }) => enter([...chosen, id], '')}
        onPaste={paste}
      />
    </div>
  );
}

interface ChosenProps {
  /** An id, or a username. */
  person: string;
  disabled: boolean;
  onRemove: () => void;
}

function Chosen({ person, disabled, onRemove }: ChosenProps) {
  const name = isUuid(person) ? personName(person) : person;
  return (
    <li class={css['one']}>
      {isUuid(person) ? <PersonLabel id={person} name={name} /> : <span>{name}</span>}
      <button
        type="button"
        class={css['remove']}
        disabled={disabled}
        aria-label={words.remove(name)}
        onClick={onRemove}
      >
        ×
      </button>
    </li>
  );
}
