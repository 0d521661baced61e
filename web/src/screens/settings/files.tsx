import { useSignal } from '@preact/signals';

import type { File as StoredFile } from '../../../../client/index.ts';
import { query } from '../../app/router.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { user } from '../../data/session.ts';
import { mayCallFor } from '../../data/teams.ts';
import { ListState } from '../../ui/list-state.tsx';
import { ProblemText } from '../../ui/problem.tsx';
import page from '../../ui/page.module.css';
import { sizeText } from '../../ui/size.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { TeamFilter } from '../../ui/team-filter.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { Removal } from './removal.tsx';
import css from './settings.module.css';
import { words } from './words.ts';

export function Files() {
  const { team = '' } = query.value;
  const held = { team_id: team === '' ? undefined : team };
  const list = usePages(['files', team], (cursor) =>
    client.page('listFiles', { query: { cursor: cursor ?? undefined, ...held } }),
  );
  const remove = async (id: string) => {
    await client.call('deleteFile', { path: { id } });
    await list.reload();
  };
  return (
    <>
      <p class="muted">{words.filesHelp}</p>
      <search class={page['filters']}>
        <TeamFilter />
      </search>
      {/* Others upload for a decision or a start only, in its form. */}
      {mayCallFor('createWorkflow', team) && <Upload held={held} onUploaded={() => list.reload()} />}
      <ListState list={list} empty={<p>{words.noFiles}</p>}>
        <Table
          label={words.parts.files}
          columns={columns(remove)}
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

function columns(remove: (id: string) => Promise<void>): Column<StoredFile>[] {
  const { type, size, visibility } = words.fileColumns;
  const isAdmin = user.value?.roles.includes('admin') ?? false;
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
    { title: type, cell: (file) => file.media_type, minor: true },
    { title: visibility, cell: (file) => file.visibility, minor: true },
    { title: size, cell: (file) => sizeText(file.size), end: true },
    { title: words.created, cell: ({ created_at: at }) => <When at={at} />, minor: true, end: true },
    {
      title: words.acts,
      acts: true,
      cell: ({ id, name, owner_id: owner, team_id: holder }) =>
        (isAdmin || (holder === null ? owner === user.value?.id : mayCallFor('deleteFile', holder))) && (
          <Removal title={words.deleteFile(name)} text={words.deleteFileText} onAct={() => remove(id)} />
        ),
    },
  ];
}
