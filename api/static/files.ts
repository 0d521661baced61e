/** Files that the API serves as they are: read once, compressed in memory, and again after a new build. */
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

export interface StaticFile {
  content: Buffer;
  /** With brotli; null for content that it does not make smaller. */
  compressed: Buffer | null;
  type: string;
  etag: string;
  /** The name has a hash of the content. */
  isHashed: boolean;
}

export interface StaticFiles {
  /** By path below the folder, with `/`. */
  byPath: ReadonlyMap<string, StaticFile>;
  index: StaticFile;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** @returns reads the files of the last build; null while there is none */
export function createStaticFiles(folder: string): () => Promise<StaticFiles | null> {
  let last: { builtAtMs: number; files: Promise<StaticFiles> } | null = null;
  return async () => {
    const builtAtMs = await stat(join(folder, 'index.html')).then(
      (found) => found.mtimeMs,
      () => null,
    );
    if (builtAtMs === null) return null;
    if (last?.builtAtMs !== builtAtMs) {
      const files = readFolder(folder);
      last = { builtAtMs, files };
      // A build that is replaced while it is read is read again.
      files.catch(() => (last = null));
    }
    return last.files;
  };
}

async function readFolder(folder: string): Promise<StaticFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name));
  const files = await Promise.all(
    paths.map(async (path): Promise<[string, StaticFile]> => {
      const name = relative(folder, path).split(sep).join('/');
      return [name, await readStaticFile(path, name)];
    }),
  );
  const byPath = new Map(files);
  const index = byPath.get('index.html');
  if (index === undefined) throw new Error(`${folder} has no index.html`);
  return { byPath, index };
}

/** @param name the path below the folder; below `assets/` each name has a hash of its content */
export async function readStaticFile(path: string, name: string): Promise<StaticFile> {
  const file = await staticFileOf(await readFile(path), extname(path));
  return { ...file, isHashed: name.startsWith('assets/') };
}

/** @param extension says the type: `.html` */
export async function staticFileOf(content: Buffer, extension: string): Promise<StaticFile> {
  const type = TYPES[extension] ?? 'application/octet-stream';
  const compressed = /^text|json|svg/.test(type) ? await compress(content) : null;
  return {
    content,
    compressed: compressed !== null && compressed.length < content.length ? compressed : null,
    type,
    etag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
    isHashed: false,
  };
}

async function compress(content: Buffer): Promise<Buffer> {
  return promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
}
