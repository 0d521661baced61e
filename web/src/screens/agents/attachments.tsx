/** Files for an invocation: uploaded when they are chosen, and sent by reference. */
import { useSignal, type Signal } from '@preact/signals';

import { uploadFile } from '../../data/uploads.ts';
import { ProblemText } from '../../ui/problem.tsx';
import type { Attached } from './invocation.ts';
import css from './agents.module.css';
import { words } from './words.ts';

interface Props {
  attached: Signal<readonly Attached[]>;
  /** The fields of the input that a file can go to. */
  fields: readonly string[];
}

export function Attachments({ attached, fields }: Props) {
  const field = useSignal(fields[0] ?? '');
  const busy = useSignal(false);
  const refused = useSignal<unknown>(null);
  const attach = async (chosen: HTMLInputElement) => {
    busy.value = true;
    refused.value = null;
    try {
      for (const file of chosen.files ?? []) {
        const { id, name, media_type, size, sha256 } = await uploadFile(file);
        const to = field.value === '' ? null : field.value;
        const others = attached.value.filter((other) => to === null || other.field !== to);
        attached.value = [...others, { field: to, file: { file_id: id, name, media_type, size, sha256 } }];
      }
    } catch (error) {
      refused.value = error;
    } finally {
      busy.value = false;
      chosen.value = '';
    }
  };
  return (
    <div class={css['attachments']}>
      <label>
        {words.attach}{' '}
        <input type="file" multiple disabled={busy} onChange={(event) => void attach(event.currentTarget)} />
      </label>
      {fields.length > 0 && (
        <select
          aria-label={words.attachTo}
          value={field.value}
          onChange={(event) => (field.value = event.currentTarget.value)}
        >
          {fields.map((name) => (
            <option key={name} value={name}>
              {words.attachField(name)}
            </option>
          ))}
          <option value="">{words.attachAll}</option>
        </select>
      )}
      {refused.value !== null && <ProblemText error={refused.value} />}
      <List attached={attached} />
    </div>
  );
}

function List({ attached }: Pick<Props, 'attached'>) {
  if (attached.value.length === 0) return null;
  const remove = (one: Attached) => {
    attached.value = attached.value.filter((other) => other !== one);
  };
  return (
    <ul>
      {attached.value.map((one) => (
        <li key={one.file.file_id}>
          {one.field === null ? one.file.name : `${one.field}: ${one.file.name}`}{' '}
          <button
            type="button"
            class="plain"
            aria-label={words.detach(one.file.name)}
            onClick={() => remove(one)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
