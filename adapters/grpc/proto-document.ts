/** A service by its `.proto` document, which is fetched with its imports. */
import { createRequire } from 'node:module';
import protobuf from 'protobufjs';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { fault } from '../../contracts/fault.ts';
import { descriptorOf, type ParsedFile } from './proto-descriptors.ts';
import { serviceIn, WELL_KNOWN_FILES, type ServiceTypes } from './service-source.ts';

const MAX_FILES = 50;
export const MAX_PROTO_BYTES = 1024 * 1024;
const MAX_TOTAL_BYTES = 4 * 1024 * 1024;

/** The text at a URL, or null if there is nothing. Throws `Fault` for every other failure. */
export type ReadText = (url: string) => Promise<string | null>;

/**
 * Imports are looked for in the folder where the package of the document begins, then beside the document. An
 * import that is not there is left out, because annotations are often not published with a service.
 */
export async function serviceByDocument(url: string, name: string, read: ReadText): Promise<ServiceTypes> {
  const loader = new ProtoLoader(url, read);
  const main = await loader.load();
  const files = loader.descriptors();
  const descriptor = files.get(main);
  if (descriptor === undefined) throw new Error('the document itself is missing');
  return serviceIn(descriptor, files, name, shown(url));
}

class ProtoLoader {
  readonly #url: string;
  readonly #read: ReadText;
  readonly #root = new protobuf.Root();
  readonly #files = new Map<string, ParsedFile>();
  readonly #missing = new Set<string>();
  readonly #bundled = new Set<string>();
  #folders: string[] = [];
  #bytes = 0;

  constructor(url: string, read: ReadText) {
    this.#url = url;
    this.#read = read;
    // Documents extend the options in it.
    this.#root.addJSON(descriptorTypes().nested ?? {});
  }

  /** @returns the path of the document */
  async load(): Promise<string> {
    const text = await this.#read(this.#url);
    if (text === null) throw fault('communication', `${shown(this.#url)} was not found`, { status: 404 });
    const path = new URL(this.#url).pathname.split('/').pop() || 'main.proto';
    const pending = [...this.#parse(path, text)];
    this.#folders = foldersOf(this.#url, this.#files.get(path)?.packageName ?? '');
    for (let next = pending.shift(); next !== undefined; next = pending.shift())
      pending.push(...(await this.#import(next)));
    return path;
  }

  /** By path. */
  descriptors(): Map<string, FileDescriptorProto> {
    try {
      this.#root.resolveAll();
      return new Map(
        [...this.#files].map(([path, file]) => {
          const imports = file.imports.filter((name) => !this.#missing.has(name));
          return [path, descriptorOf({ ...file, imports }, this.#root)];
        }),
      );
    } catch (error) {
      throw this.#refusal(this.#url, error);
    }
  }

  /** @returns the imports of that file */
  async #import(path: string): Promise<string[]> {
    if (this.#files.has(path) || this.#missing.has(path) || this.#bundled.has(path)) return [];
    if (WELL_KNOWN_FILES.has(path)) {
      this.#bundled.add(path);
      const nested = protobuf.common.get(path)?.nested;
      if (nested) this.#root.addJSON(nested);
      return [];
    }
    if (this.#files.size + this.#missing.size >= MAX_FILES)
      throw fault('configuration', `${shown(this.#url)} needs more than ${MAX_FILES} files`);
    for (const folder of this.#folders) {
      const url = URL.canParse(path, folder) ? new URL(path, folder).href : '';
      // An import is a path below the folder, so it never leads to another server.
      if (!url.startsWith(folder)) continue;
      const text = await this.#read(url);
      if (text !== null) return this.#parse(path, text);
    }
    this.#missing.add(path);
    return [];
  }

  #parse(path: string, text: string): string[] {
    this.#bytes += text.length;
    if (this.#bytes > MAX_TOTAL_BYTES)
      throw fault(
        'configuration',
        `${shown(this.#url)} and its imports have more than ${MAX_TOTAL_BYTES} bytes`,
      );
    try {
      nameParsedFile(path);
      const parsed = protobuf.parse(text, this.#root, { keepCase: true });
      const imports = [...(parsed.imports ?? []), ...(parsed.weakImports ?? [])];
      this.#files.set(path, { path, packageName: parsed.package ?? '', imports });
      return imports;
    } catch (error) {
      throw this.#refusal(path, error);
    } finally {
      nameParsedFile(null);
    }
  }

  #refusal(where: string, error: unknown): Error {
    const reason = error instanceof Error ? error.message.slice(0, 300) : '';
    const missing = [...this.#missing].slice(0, 10).join(', ');
    const absent = missing === '' ? '' : ` (these imports were not found: ${missing})`;
    return fault('configuration', `${shown(where)} is not a valid .proto document: ${reason}${absent}`);
  }
}

/** The types of `descriptor.proto`, which the library brings as JSON. */
function descriptorTypes(): protobuf.INamespace {
  return createRequire(import.meta.url)('protobufjs/google/protobuf/descriptor.json') as protobuf.INamespace;
}

/** The parser notes the file in each type; its types do not declare this property of the function. */
function nameParsedFile(filename: string | null): void {
  Object.assign(protobuf.parse, { filename });
}

/** Where imports are looked for, each with a slash at its end. */
function foldersOf(url: string, packageName: string): string[] {
  const beside = new URL('.', url).href;
  const path = `${packageName.replaceAll('.', '/')}/`;
  const root = beside.endsWith(`/${path}`) ? beside.slice(0, -path.length) : beside;
  return [...new Set([root, beside])];
}

/** Without a query, which may contain keys. */
function shown(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}
