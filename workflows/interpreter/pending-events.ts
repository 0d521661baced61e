/**
 * Events that are not known to be written, in the order in which they were added. Each is sent in one batch.
 * A batch also includes events that must precede its own and that another batch carries, because it is
 * unknown which activity writes first.
 */
import type { NewRunEvent } from '../../contracts/run-events.ts';
import { sizeOf } from './size.ts';
import { mustFollow, type Strand } from './strand.ts';

export const MAX_BATCH_EVENTS = 200;
export const MAX_BATCH_BYTES = 128 * 1024;
const EVENT_OVERHEAD_BYTES = 200;

interface Entry {
  event: NewRunEvent;
  strand: Strand | null;
  bytes: number;
  /** Running activities that have it in their batch. */
  carriers: number;
  written: boolean;
}

/** The events of a batch. */
export type Selection = readonly Entry[];

export class PendingEvents {
  #entries: Entry[] = [];
  /** Events that no activity carries. */
  #freeCount = 0;
  #freeBytes = 0;

  get freeCount(): number {
    return this.#freeCount;
  }

  get freeBytes(): number {
    return this.#freeBytes;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  add(event: NewRunEvent, strand: Strand | null): void {
    const bytes = EVENT_OVERHEAD_BYTES + event.key.length + event.message.length + sizeOf(event.data);
    const entry: Entry = { event, strand, bytes, carriers: 0, written: false };
    this.#entries.push(entry);
    this.#free(entry, 1);
  }

  /** Everything that has to be in the log before an event that the strand adds now. */
  before(strand: Strand | null): Selection {
    return this.#withPredecessors((entry) => mustFollow(strand, entry.strand));
  }

  /** The events that no activity carries, up to the size of a batch. */
  free(): Selection {
    const chosen = new Set(cut(this.#entries.filter(({ carriers }) => carriers === 0)));
    return cut(this.#withPredecessors((entry) => chosen.has(entry)));
  }

  all(): Selection {
    return this.#entries;
  }

  carry(selection: Selection): void {
    for (const entry of selection) if (entry.carriers++ === 0) this.#free(entry, -1);
  }

  written(selection: Selection): void {
    for (const entry of selection) entry.written = true;
    this.#entries = this.#entries.filter(({ written }) => !written);
  }

  /** Whether they were written is unknown, so they are sent again; the log ignores known events. */
  unknown(selection: Selection): void {
    for (const entry of selection) if (--entry.carriers === 0 && !entry.written) this.#free(entry, 1);
  }

  #free(entry: Entry, sign: 1 | -1): void {
    this.#freeCount += sign;
    this.#freeBytes += sign * entry.bytes;
  }

  #withPredecessors(wanted: (entry: Entry) => boolean): Entry[] {
    const chosen: Entry[] = [];
    const strands = new Set<Strand | null>();
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i];
      if (!entry || !(wanted(entry) || precedes(entry, strands))) continue;
      chosen.push(entry);
      strands.add(entry.strand);
    }
    return chosen.reverse();
  }
}

function precedes({ strand }: Entry, chosen: ReadonlySet<Strand | null>): boolean {
  if (chosen.has(strand)) return true;
  for (const later of chosen) if (mustFollow(later, strand)) return true;
  return false;
}

/** The first events that fit into a batch; at least one, of any size. */
export function cut(selection: Selection): Selection {
  let bytes = 0;
  const end = selection.findIndex((entry, i) => {
    bytes += entry.bytes;
    return i > 0 && (i >= MAX_BATCH_EVENTS || bytes > MAX_BATCH_BYTES);
  });
  return end < 0 ? selection : selection.slice(0, end);
}

/** Whether one batch can take all of them and one more event. */
export function fits(selection: Selection): boolean {
  return selection.length < MAX_BATCH_EVENTS && cut(selection).length === selection.length;
}

export function bytesOf(selection: Selection): number {
  return selection.reduce((sum, { bytes }) => sum + bytes, 0);
}
