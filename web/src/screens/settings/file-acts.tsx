/** What its owner, builders of its team and admins do with a file. */
import { useSignal } from '@preact/signals';

import type { File as StoredFile, UpdateFileRequest } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { user } from '../../data/session.ts';
import { mayCallFor } from '../../data/teams.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { exactTime } from '../../ui/time.ts';
import { tell } from '../../ui/toasts.tsx';
import { words } from './file-words.ts';
import { MoveHeld } from './move-held.tsx';
import { Removal } from './removal.tsx';
import { ShownOnce } from './shown-once.tsx';
import { words as settingsWords } from './words.ts';

const schema = {
  type: 'object',
  required: ['name', 'visibility'],
  properties: {
    name: { type: 'string', title: words.name, maxLength: 255 },
    visibility: {
      title: words.visibility,
      description: words.visibilityHelp,
      oneOf: Object.entries(words.visibilities).map(([value, title]) => ({ const: value, title })),
    },
  },
};

const linkSchema = {
  type: 'object',
  required: ['expires_in'],
  properties: {
    expires_in: {
      title: words.lasts,
      default: 3_600,
      oneOf: Object.entries(words.lifetimes).map(([seconds, title]) => ({ const: Number(seconds), title })),
    },
  },
};

interface Props {
  file: StoredFile;
  reload: () => Promise<void>;
}

export function FileActs({ file, reload }: Props) {
  const link = useSignal<Record<string, string> | null>(null);
  if (!mayChange(file)) return null;
  const { id, name, visibility } = file;
  const path = { id };
  const change = async (body: UpdateFileRequest) => {
    const saved = await client.call('updateFile', { path, body });
    await reload();
    tell(words.saved(saved.name));
  };
  return (
    <>
      <FormDialog
        id={`file-${id}`}
        button={words.edit}
        title={words.editTitle(name)}
        submit={words.save}
        schema={schema}
        values={{ name, visibility }}
        onSubmit={change}
      />
      <FormDialog
        id={`link-${id}`}
        button={words.link}
        title={words.linkTitle(name)}
        help={words.linkHelp}
        submit={words.makeLink}
        schema={linkSchema}
        onSubmit={async (body) => {
          const { url, expires_at: until } = await client.call('createFileLink', { path, body });
          link.value = { [words.linkUntil(exactTime(until))]: url };
        }}
      />
      <MoveHeld by="updateFile" kind="file" name={name} record={file} onMove={(to) => change(to)} />
      <Removal
        title={settingsWords.deleteFile(name)}
        text={settingsWords.deleteFileText}
        onAct={async () => {
          await client.call('deleteFile', { path });
          await reload();
        }}
      />
      <ShownOnce title={words.linkTitle(name)} values={link.value} onClose={() => (link.value = null)} />
    </>
  );
}

/** Whoever owns it needs no role. */
function mayChange({ owner_id: owner, team_id: team }: StoredFile): boolean {
  if (user.value?.roles.includes('admin') === true) return true;
  return team === null ? owner === user.value?.id : mayCallFor('updateFile', team);
}
