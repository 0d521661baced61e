/** Media types that an agent takes and returns, and how they match those of a request. Pure. */
import type { A2APart } from './objects.ts';

export interface Modes {
  input: string[];
  output: string[];
}

export interface ModesOf {
  modalities: string[] | null;
  skills: readonly { input_modes: string[] | null; output_modes: string[] | null }[];
}

const DEFAULT = ['text/plain', 'application/json'];

/** Modalities are free text in the registry; these common words have media types. */
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

/** The card's default modes: the agent's modalities as media types; text and JSON if it names none. */
export function defaultModes(modalities: readonly string[] | null): string[] {
  const types = toMediaTypes(modalities ?? []);
  return types.length > 0 ? types : DEFAULT;
}

/** The modes of the agent and of its skills. */
export function allModes({ modalities, skills }: ModesOf): Modes {
  const base = defaultModes(modalities);
  return {
    input: unique([...base, ...skills.flatMap(({ input_modes }) => toMediaTypes(input_modes ?? []))]),
    output: unique([...base, ...skills.flatMap(({ output_modes }) => toMediaTypes(output_modes ?? []))]),
  };
}

/** Keeps media types, translates known modalities and drops unknown words. */
export function toMediaTypes(words: readonly string[]): string[] {
  return unique(
    words.flatMap((word) =>
      word.includes('/') ? [essence(word)] : (MEDIA_TYPES[word.trim().toLowerCase()] ?? []),
    ),
  );
}

/** Whether two media ranges match; both may have wildcards. */
function meets(left: string, right: string): boolean {
  const [leftType = '', leftSubtype = ''] = essence(left).split('/');
  const [rightType = '', rightSubtype = ''] = essence(right).split('/');
  const part = (a: string, b: string): boolean => a === '*' || b === '*' || a === b;
  return part(leftType, rightType) && part(leftSubtype, rightSubtype);
}

export function accepts(ranges: readonly string[], mediaType: string): boolean {
  return ranges.some((range) => meets(range, mediaType));
}

/** The media type of a part: its own, else the default of its kind. */
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
