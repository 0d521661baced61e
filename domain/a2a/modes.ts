/** Media types that an agent takes and gives, and how they meet those of a request. Pure. */
import type { A2APart } from '../../contracts/a2a.ts';

export interface Modes {
  input: string[];
  output: string[];
}

export interface ModesOf {
  modalities: string[] | null;
  skills: readonly { input_modes: string[] | null; output_modes: string[] | null }[];
}

const DEFAULT = ['text/plain', 'application/json'];

/** Modalities are free words in the registry; those in use have media types. */
const MEDIA_TYPES: Record<string, string[]> = {
  text: ['text/plain', 'application/json'],
  json: ['application/json'],
  data: ['application/json'],
  structured: ['application/json'],
  markdown: ['text/markdown', 'text/plain'],
  html: ['text/html'],
  image: ['image/*'],
  vision: ['image/*'],
  audio: ['audio/*'],
  speech: ['audio/*'],
  video: ['video/*'],
  pdf: ['application/pdf'],
  csv: ['text/csv'],
  file: ['*/*'],
  files: ['*/*'],
};

/** What the card says: the agent's modalities as media types; text and JSON where it names none. */
export function defaultModes(modalities: readonly string[] | null): string[] {
  const types = toMediaTypes(modalities ?? []);
  return types.length > 0 ? types : DEFAULT;
}

/** The agent's and its skills'. */
export function allModes({ modalities, skills }: ModesOf): Modes {
  const base = defaultModes(modalities);
  return {
    input: unique([...base, ...skills.flatMap(({ input_modes }) => toMediaTypes(input_modes ?? []))]),
    output: unique([...base, ...skills.flatMap(({ output_modes }) => toMediaTypes(output_modes ?? []))]),
  };
}

/** Media types as they are, known words as theirs; unknown words say nothing. */
export function toMediaTypes(words: readonly string[]): string[] {
  return unique(words.flatMap((word) => (word.includes('/') ? [essence(word)] : (MEDIA_TYPES[word.trim().toLowerCase()] ?? []))));
}

/** Whether one side's range takes the other's; both may have wildcards. */
export function meets(one: string, other: string): boolean {
  const [aType = '', aSub = ''] = essence(one).split('/');
  const [bType = '', bSub = ''] = essence(other).split('/');
  const part = (a: string, b: string): boolean => a === '*' || b === '*' || a === b;
  return part(aType, bType) && part(aSub, bSub);
}

export function accepts(ranges: readonly string[], mediaType: string): boolean {
  return ranges.some((range) => meets(range, mediaType));
}

/** The media type of a part: its own, else that of its kind. */
export function mediaTypeOf(part: A2APart): string {
  if (part.mediaType) return essence(part.mediaType);
  if (part.text !== undefined) return 'text/plain';
  return 'data' in part ? 'application/json' : 'application/octet-stream';
}

function essence(mediaType: string): string {
  return (mediaType.split(';')[0] ?? '').trim().toLowerCase();
}

function unique(values: string[]): string[] {
  return [...new Set(values)];
}
