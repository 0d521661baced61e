/**
 * Finds secrets in responses, in the forms in which they usually appear. For each form of each secret the
 * work is linear in the text: a form is searched by its first characters, and a match is not scanned again.
 */

/** Shorter values are words that occur in ordinary responses. */
const MIN_REDACTED_LENGTH = 6;
/** Text that matches the first characters of a secret this far counts as the secret. */
const KEY_LENGTH = 128;
const STREAM_BLOCK_BYTES = 64 * 1024;

export interface Redactor {
  /** Adds a value to redact, with the name that replaces it. */
  protect: (value: string, shownAs: string) => void;
  /** Replaces secrets in all known forms; case is ignored. */
  redact: (text: string) => string;
  /**
   * `redact` for a text that is still growing. `rest` may be the beginning of a secret: call again with it
   * and what follows.
   */
  redactHead: (text: string) => { done: string; rest: string };
  /** The replacement for a number that is a secret; null for other numbers. */
  secretNumber: (value: number) => string | null;
  /** `redact` for bytes of UTF-8 text. */
  redactBytes: (bytes: Uint8Array) => Uint8Array;
  /**
   * `redactBytes` for a stream, also if a secret is split across chunks. It holds back as many bytes as the
   * longest form has.
   */
  redactStream: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  /**
   * Where a secret may have begun that the bytes do not end, so that no other is cut; else their length.
   */
  openEnd: (bytes: Uint8Array) => number;
}

interface Form {
  /** In lower case, like the text that is searched. */
  text: string;
  key: string;
  shownAs: string;
}

interface Span {
  start: number;
  end: number;
  shownAs: string;
}

export function createRedactor(): Redactor {
  const forms = formList((text) => text);
  // Bytes are searched as Latin-1, one character each.
  const byteForms = formList((text) => Buffer.from(text, 'utf8').toString('latin1'));
  const numbers = new Map<number, string>();

  return {
    protect(value, shownAs) {
      if (value.length < MIN_REDACTED_LENGTH) return;
      for (const form of formsOf(value)) {
        forms.add(form, shownAs);
        byteForms.add(form, shownAs);
      }
      if (/^[+-]?\d+(?:\.\d+)?$/.test(value) && !numbers.has(Number(value)))
        numbers.set(Number(value), shownAs);
    },
    redact: (text) => replaced(text, spansIn(text, forms.sorted())),
    redactHead: (text) => redactedUntil(text, firstBeginning(text, forms.sorted()), forms.sorted()),
    // The negated number reveals the secret as well.
    secretNumber: (value) => numbers.get(value) ?? numbers.get(-value) ?? null,
    redactBytes: (bytes) => redactedBytes(bytes, byteForms.sorted()),
    redactStream: (chunks) => redactedStream(chunks, byteForms.sorted()),
    openEnd: (bytes) => openEndOf(bytes, byteForms.sorted()),
  };
}

/** The forms in which servers, URLs and formats write a value. */
function formsOf(value: string): Set<string> {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const uri = encodeURIComponent(value.toWellFormed());
  const bytes = Buffer.from(value, 'utf8');
  const base64 = [0, 1, 2].map((offset) => base64At(bytes, offset));
  return new Set([
    value,
    json,
    json.replaceAll('/', '\\/'),
    ascii,
    uri,
    // Form encoding: spaces as plus signs, and the five characters that encodeURIComponent leaves.
    new URLSearchParams({ v: value }).toString().slice(2),
    value
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;'),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    bytes.toString('hex'),
  ]);
}

/**
 * The base64 characters that depend on the value alone, if `offset` bytes precede it in its group of three.
 */
function base64At(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

function formList(written: (form: string) => string): {
  add: (form: string, shownAs: string) => void;
  sorted: () => readonly Form[];
} {
  const byText = new Map<string, Form>();
  let sorted: Form[] | null = null;
  return {
    add(form, shownAs) {
      const text = lowered(written(form));
      if (text.length < MIN_REDACTED_LENGTH || byText.has(text)) return;
      byText.set(text, { text, key: text.slice(0, KEY_LENGTH), shownAs });
      sorted = null;
    },
    // Short forms come first: when one is longer than the text, all later ones are too.
    sorted: () => (sorted ??= [...byText.values()].sort((a, b) => a.key.length - b.key.length)),
  };
}

/** Lower case without changing the length, which a few letters would. */
function lowered(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length
    ? lower
    : text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The positions of secrets in order; overlapping ones are merged. */
function spansIn(text: string, forms: readonly Form[]): Span[] {
  const [shortest] = forms;
  if (shortest === undefined || text.length < shortest.key.length) return [];
  const lower = lowered(text);
  const spans: Span[] = [];
  for (const form of forms) {
    if (form.key.length > lower.length) break;
    let start = lower.indexOf(form.key);
    while (start >= 0) {
      const end = start + commonLength(lower, start, form);
      spans.push({ start, end, shownAs: form.shownAs });
      start = lower.indexOf(form.key, end);
    }
  }
  return merged(spans);
}

function commonLength(lower: string, start: number, { text, key }: Form): number {
  let length = key.length;
  while (length < text.length && lower.charCodeAt(start + length) === text.charCodeAt(length)) length += 1;
  return length;
}

function merged(spans: Span[]): Span[] {
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  const apart: Span[] = [];
  for (const span of spans) {
    const last = apart.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else apart.push(span);
  }
  return apart;
}

function replaced(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, shownAs } of spans) {
    parts.push(text.slice(at, start), shownAs);
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}

async function* redactedStream(
  chunks: AsyncIterable<Uint8Array>,
  forms: readonly Form[],
): AsyncGenerator<Uint8Array> {
  if (forms.length === 0) {
    yield* chunks;
    return;
  }
  const longest = Math.max(...forms.map(({ text }) => text.length));
  // Each byte is searched at most twice, however long the forms are.
  const blockSize = Math.max(STREAM_BLOCK_BYTES, longest);
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    held.push(chunk);
    size += chunk.length;
    if (size < blockSize + longest) continue;
    const { done, rest } = redactedHead(Buffer.concat(held, size).toString('latin1'), longest, forms);
    if (done !== '') yield Buffer.from(done, 'latin1');
    held = [Buffer.from(rest, 'latin1')];
    size = rest.length;
  }
  if (size > 0) yield redactedBytes(Buffer.concat(held, size), forms);
}

function redactedBytes(bytes: Uint8Array, forms: readonly Form[]): Uint8Array {
  const text = latin1Of(bytes);
  const spans = spansIn(text, forms);
  return spans.length === 0 ? bytes : Buffer.from(replaced(text, spans), 'latin1');
}

function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function openEndOf(bytes: Uint8Array, forms: readonly Form[]): number {
  const text = latin1Of(bytes);
  const open = firstBeginning(text, forms);
  // A complete secret may end like one begins.
  return spansIn(text, forms).find((span) => span.start < open && span.end > open)?.start ?? open;
}

/** Everything except the end, where a secret may have begun. */
function redactedHead(text: string, longest: number, forms: readonly Form[]): { done: string; rest: string } {
  return redactedUntil(text, text.length - longest + 1, forms);
}

/** Where the end of the text begins that may be the beginning of a secret. */
function firstBeginning(text: string, forms: readonly Form[]): number {
  const lower = lowered(text);
  const borders = new Uint32Array(lower.length);
  const longest = forms.reduce((most, form) => Math.max(most, beginningAtEnd(lower, form.text, borders)), 0);
  return lower.length - longest;
}

/**
 * How many characters at the end of the text are the beginning of the form, but not all of it. Knuth, Morris
 * and Pratt: to compare them at each position would take quadratic time for secrets like `aaa…b`. `borders`
 * is memory to work in, a number for each character of the text.
 */
function beginningAtEnd(lower: string, form: string, borders: Uint32Array): number {
  let known = 1;
  /** The longest beginning of the form that its first `length` characters end with, without all of them. */
  const borderOf = (length: number): number => {
    for (; known < length; known++) {
      let border = borders[known - 1] ?? 0;
      while (border > 0 && form.charCodeAt(border) !== form.charCodeAt(known))
        border = borders[border - 1] ?? 0;
      borders[known] = form.charCodeAt(border) === form.charCodeAt(known) ? border + 1 : 0;
    }
    return borders[length - 1] ?? 0;
  };
  const first = form.charAt(0);
  let matched = 0;
  for (let at = Math.max(0, lower.length - form.length + 1); at < lower.length; at++) {
    if (matched === 0) at = lower.indexOf(first, at);
    if (at < 0) return 0;
    while (matched > 0 && form.charCodeAt(matched) !== lower.charCodeAt(at)) matched = borderOf(matched);
    if (form.charCodeAt(matched) === lower.charCodeAt(at)) matched += 1;
  }
  return matched;
}

function redactedUntil(text: string, safe: number, forms: readonly Form[]): { done: string; rest: string } {
  const spans = spansIn(text, forms);
  const across = spans.find(({ start, end }) => start < safe && end > safe);
  const until = across === undefined ? safe : across.start > 0 ? across.start : across.end;
  return {
    done: replaced(
      text.slice(0, until),
      spans.filter(({ end }) => end <= until),
    ),
    rest: text.slice(until),
  };
}
