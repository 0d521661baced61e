import { useSignal } from '@preact/signals';

import type { File as StoredFile } from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { seesAll } from '../../data/session.ts';
import { mayCallFor } from '../../data/teams.ts';
import { SearchField } from '../../ui/filters.tsx';
import { ListState } from '../../ui/list-state.tsx';
import { ProblemText } from '../../ui/problem.tsx';
import {
  ANY_HOLDER,
  holderText,
  isOfAnother,
  OwnerFilter,
  ownerColumns,
  ownerQuery,
} from '../../ui/owner-filter.tsx';
import page from '../../ui/page.module.css';
import { sizeText } from '../../ui/size.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { TeamFilter } from '../../ui/team-filter.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { FileActs } from './file-acts.tsx';
import { words as fileWords } from './file-words.ts';
import css from './settings.module.css';
import { words } from './words.ts';

export function Files() {
  const { team = '', q = '' } = query.value;
  const held = { team_id: team === '' ? undefined : team };
  const owned = ownerQuery();
  const list = usePages(['files', team, q, owned.owner_id ?? ''], (cursor) =>
    client.page('listFiles', {
      query: { cursor: cursor ?? undefined, q: q === '' ? undefined : q, ...held, ...owned },
    }),
  );
  return (
    <>
      <p class="muted">{seesAll() ? words.filesHelpAdmin : words.filesHelp}</p>
      <search class={page['filters']}>
        <SearchField label={fileWords.search} value={q} />
        <TeamFilter />
        <OwnerFilter />
      </search>
      {/* Others upload for a decision or a start only, in its form. */}
      {mayCallFor('createWorkflow', team) && !isOfAnother() && (
        <Upload held={held} onUploaded={() => list.reload()} />
      )}
      <ListState
        list={list}
        filter={[q === '' ? '' : `“${q}”`, holderText()].filter((part) => part !== '').join(', ')}
        onClear={() => setQuery({ q: undefined, ...ANY_HOLDER })}
        empty={<p>{words.noFiles}</p>}
      >
        <Table
          label={words.parts.files}
          columns={columns(() => list.reload())}
          records={list.items.value}
          keyOf={({ id }: StoredFile) => id}
        />
      </ListState>
    </>
  );
}

interface UploadProps {
  held: { team_id: string | undefined };
  onUploaded: () => Promise<void>;
}

function Upload({ held, onUploaded }: UploadProps) {
  const busy = useSignal(false);
  const refused = useSignal<unknown>(null);
  const upload = async (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    busy.value = true;
    refused.value = null;
    try {
      const file = await client.call('uploadFile', { query: held, body: new FormData(form) });
      tell(words.uploaded(file.name));
      form.reset();
      await onUploaded();
    } catch (error) {
      refused.value = error;
    } finally {
      busy.value = false;
    }
  };
  return (
    <>
      <form class={css['upload']} onSubmit={(event) => void upload(event)}>
        <input type="file" name="file" aria-label={words.file} required />
        <button type="submit" class="primary" disabled={busy}>
          {busy.value ? words.uploading : words.upload}
        </button>
      </form>
      {refused.value !== null && <ProblemText error={refused.value} />}
    </>
  );
}

function columns(reload: () => Promise<void>): Column<StoredFile>[] {
  const { type, size, visibility } = words.fileColumns;
  return [
    {
      title: words.name,
      cell: ({ id, name }) => (
        <a href={`/files/${encodeURIComponent(id)}`} download={name}>
          {name}
        </a>
      ),
      long: true,
    },
    ...ownerColumns<StoredFile>(),
    { title: type, cell: (file) => file.media_type, minor: true },
    { title: visibility, cell: (file) => file.visibility, minor: true },
    { title: size, cell: (file) => sizeText(file.size), end: true },
    { title: words.created, cell: ({ created_at: at }) => <When at={at} />, minor: true, end: true },
    { title: words.acts, acts: true, cell: (file) => <FileActs file={file} reload={reload} /> },
  ];
}
