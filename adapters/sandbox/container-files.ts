/**
 * Files of a container: the folder `/files` with what goes in (`/files/in`) and what comes out
 * (`/files/out`). The folder is in memory, with a limit, and belongs to a second container that only sleeps,
 * so it exists before the process starts and after it has ended. It ends with that container.
 */
import type { SandboxSettings } from '../../contracts/process-policy.ts';
import { fault } from '../../contracts/fault.ts';
import { keeperName, LABEL, type SandboxFile } from './container-spec.ts';
import { messageOf, type EngineApi } from './engine-api.ts';
import { inTime } from './in-time.ts';
import { readTar, writeTar, type TarFile } from './tar.ts';

const MIB = 1024 * 1024;
export const FOLDER = '/files';
/** Of `/files`, in and out together. It counts as memory of whoever writes. */
const FOLDER_MIB = 64;
const MAX_FILES_OUT = 32;
const MAX_NAME_BYTES = 255;
/** For all files, in each direction. */
const TRANSFER = {
  limitMs: 120_000,
  tooLate: "The container's files could not be copied within 120 s",
};
/** Each needs some memory, even if it is empty. */
const MAX_INODES = 4_096;
const KEEPER_MIB = 16;

/** A name for each file, without folders; equal names get a number. */
export function namesOf(files: readonly { name: string }[]): string[] {
  const taken = new Set<string>();
  return files.map(({ name }) => {
    const plain = shortened(name.replaceAll(/[/\\\p{Cc}]/gu, '_'));
    const base = plain === '' || plain === '.' || plain === '..' ? 'file' : plain;
    let free = base;
    for (let number = 2; taken.has(free); number++) free = `${number}-${base}`;
    taken.add(free);
    return free;
  });
}

/** The end of a name, with its extension: folders take so many bytes, with the number of an equal name. */
function shortened(name: string): string {
  const characters = [...name];
  let tooMany = Buffer.byteLength(name) - (MAX_NAME_BYTES - '99-'.length);
  while (tooMany > 0) tooMany -= Buffer.byteLength(characters.shift() ?? '');
  return characters.join('');
}

interface FolderOwner {
  /** Of the process's container. */
  name: string;
  installationId: string;
  key: string;
  title: string;
}

/** The body of `POST /containers/create` for the container that keeps the folder. */
export function keeperSpec(
  { installationId, key, title }: Omit<FolderOwner, 'name'>,
  { user, filesImage }: SandboxSettings,
): Record<string, unknown> {
  const options = `size=${FOLDER_MIB}m,nr_inodes=${MAX_INODES},mode=0755,nosuid,nodev`;
  return {
    Image: filesImage,
    Entrypoint: ['/bin/sh', '-c', 'while sleep 3600; do :; done'],
    Cmd: [],
    User: user,
    NetworkDisabled: true,
    Labels: {
      [LABEL.installation]: installationId,
      [LABEL.key]: key,
      [LABEL.title]: title,
      [LABEL.keepSeconds]: '0',
      [LABEL.folder]: FOLDER,
    },
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: KEEPER_MIB * MIB,
      MemorySwap: KEEPER_MIB * MIB,
      PidsLimit: 4,
      Mounts: [
        {
          Type: 'volume',
          Target: FOLDER,
          VolumeOptions: {
            NoCopy: true,
            DriverConfig: { Name: 'local', Options: { type: 'tmpfs', device: 'tmpfs', o: options } },
          },
        },
      ],
    },
  };
}

/** Makes the folder and puts the files into it. @throws Fault */
export async function makeFolder(
  api: EngineApi,
  owner: FolderOwner,
  settings: SandboxSettings,
  files: readonly SandboxFile[],
  signal: AbortSignal,
): Promise<void> {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  if (total > FOLDER_MIB * MIB)
    throw fault('runtime', `The files for the container have more than ${FOLDER_MIB} MiB`);
  const name = keeperName(owner.name);
  const created = await api.call('POST', `/containers/create?name=${name}`, keeperSpec(owner, settings));
  if (created.status !== 201)
    throw fault('runtime', `The folder for files could not be created: ${messageOf(created)}`);
  const started = await api.call('POST', `/containers/${name}/start`);
  if (started.status !== 204)
    throw fault('runtime', `The folder for files could not be created: ${messageOf(started)}`);
  const [uid = 0, gid = 0] = settings.user.split(':').map(Number);
  const folders = [
    { path: 'in', uid: 0, gid: 0 },
    { path: 'out', uid, gid },
  ];
  const put: TarFile[] = files.map((file) => ({ ...file, path: `in/${file.name}` }));
  const path = `/containers/${name}/archive?path=${FOLDER}`;
  const answer = await inTime({ ...TRANSFER, signal }, (within) =>
    api.upload(path, writeTar(folders, put), within),
  );
  if (answer.status !== 200)
    throw fault('runtime', `The files for the container could not be copied: ${messageOf(answer)}`);
}

/**
 * Passes on what lies directly in `/files/out`. @returns the names of what was left out: folders, links and
 * others that are no plain files. @throws Fault at a limit
 */
export async function takeFiles(
  api: EngineApi,
  name: string,
  take: (name: string, chunks: AsyncIterable<Uint8Array>) => Promise<void>,
  signal: AbortSignal,
): Promise<string[]> {
  return inTime({ ...TRANSFER, signal }, (within) => takeNow(api, name, take, within));
}

async function takeNow(
  api: EngineApi,
  name: string,
  take: (name: string, chunks: AsyncIterable<Uint8Array>) => Promise<void>,
  within: AbortSignal,
): Promise<string[]> {
  const path = `/containers/${keeperName(name)}/archive?path=${FOLDER}/out`;
  const { status, body } = await api.stream('GET', path, within);
  const leftOut: string[] = [];
  try {
    if (status !== 200) throw fault('runtime', `The folder ${FOLDER}/out is gone (${status})`);
    let [files, bytes] = [0, 0];
    for await (const entry of readTar(body)) {
      const inside = entry.path.replace(/^(?:\.\/)?out(?:\/|$)/, '').replace(/\/$/, '');
      if (inside === '') continue;
      // A file with holes is larger than the folder, and the engine sends the holes.
      bytes += entry.size;
      if (bytes > FOLDER_MIB * MIB)
        throw fault('runtime', `The container left more than ${FOLDER_MIB} MiB in ${FOLDER}/out`);
      if (entry.type !== 'file' || inside.includes('/') || !isName(inside)) {
        if (leftOut.length < MAX_FILES_OUT) leftOut.push(inside.slice(0, MAX_NAME_BYTES));
        continue;
      }
      files += 1;
      if (files > MAX_FILES_OUT)
        throw fault('runtime', `The container left more than ${MAX_FILES_OUT} files in ${FOLDER}/out`);
      await take(inside, entry.chunks);
    }
  } finally {
    // An answer that is not read to its end says so as an error, which nobody waits for.
    body.on('error', () => undefined);
    body.destroy();
  }
  return leftOut;
}

function isName(name: string): boolean {
  // oxlint-disable-next-line no-control-regex -- these could fake another name in a list
  return Buffer.byteLength(name) <= MAX_NAME_BYTES && !/[\u0000-\u001f\u007f\\\ufffd]/.test(name);
}
