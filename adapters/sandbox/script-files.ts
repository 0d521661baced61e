/** The folder `/files` of a script, in memory: `/files/in` can be read, `/files/out` written, too. */
import type { ScriptFile } from './script-types.ts';

export interface ScriptFiles {
  /** @throws Error for a path that is none of its files, as all others */
  read(path: string): Uint8Array;
  write(path: string, bytes: Uint8Array): void;
  names(path: string): string[];
  /** What lies in `/files/out`. */
  left(): ScriptFile[];
}

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_FILES = 32;
const MAX_NAME_BYTES = 255;

/** Null: there is no folder. */
export function createScriptFiles(given: readonly ScriptFile[] | null): ScriptFiles {
  const folders = given && {
    in: new Map(given.map(({ name, bytes }) => [name, bytes])),
    out: new Map<string, Uint8Array>(),
  };
  const folderOf = (path: string): { folder: 'in' | 'out'; files: Map<string, Uint8Array>; name: string } => {
    const [, folder, name = ''] = /^\/files\/(in|out)(?:\/(.*))?$/s.exec(path) ?? [];
    if (folders === null)
      throw new Error('a script has no files: only its standard input can be read, as readFileSync(0)');
    if (folder !== 'in' && folder !== 'out')
      throw new Error(`there is no file ${JSON.stringify(path)}: a script has /files/in and /files/out only`);
    return { folder, files: folders[folder], name };
  };
  return {
    read(path) {
      const { files, name } = folderOf(path);
      const bytes = files.get(name);
      if (bytes === undefined) throw new Error(`there is no file ${JSON.stringify(path)}`);
      return bytes;
    },
    write(path, bytes) {
      const { folder, files, name } = folderOf(path);
      if (folder !== 'out') throw new Error('a script can write to /files/out only');
      // oxlint-disable-next-line no-control-regex -- these could fake another name in a list
      if (name === '' || Buffer.byteLength(name) > MAX_NAME_BYTES || /[\u0000-\u001f\u007f/\\]/.test(name))
        throw new Error(`${JSON.stringify(name)} cannot be the name of a file`);
      const others = [...files].reduce((sum, [other, held]) => sum + (other === name ? 0 : held.length), 0);
      if (others + bytes.length > MAX_BYTES)
        throw new Error(`the files of a script have at most ${MAX_BYTES} bytes`);
      if (!files.has(name) && files.size >= MAX_FILES)
        throw new Error(`a script leaves at most ${MAX_FILES} files`);
      files.set(name, bytes);
    },
    names(path) {
      const { files, name } = folderOf(path);
      if (name !== '') throw new Error(`there is no folder ${JSON.stringify(path)}`);
      return [...files.keys()];
    },
    left: () => [...(folders?.out ?? [])].map(([name, bytes]) => ({ name, bytes })),
  };
}
